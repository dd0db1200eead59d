/*
 * cinoc: a trained policy in a control loop.
 *
 * Set up once, with as much time and memory as it takes: cinoc_load, then cinoc_set_target. After that
 * cinoc_decide and cinoc_set_target allocate nothing, take no lock and make no system call.
 *
 * One controller belongs to one thread at a time; threads that each have their own do not disturb each other.
 * Every function returns a code, and none of them ends the program. Guide: docs/deploy.md.
 *
 * Made from crates/capi/src by scripts/c-header: change it there.
 */

#ifndef CINOC_H
#define CINOC_H

#include <stddef.h>
#include <stdint.h>

/*
 Version of this interface. A program passes the number it was compiled with (`CinocOptions`).
 */
#define CINOC_ABI_VERSION 1

/*
 What a function returns. `CINOC_OK` is 0; everything else says that nothing was done.
 */
typedef enum {
  /*
   Done.
   */
  CINOC_OK = 0,
  /*
   A pointer that must not be null is null.
   */
  CINOC_ERROR_NULL = 1,
  /*
   The program was compiled with the header of another version of the library.
   */
  CINOC_ERROR_ABI = 2,
  /*
   The policy cannot be read: there is no such file, it is damaged, or it holds something else.
   */
  CINOC_ERROR_FILE = 3,
  /*
   The policy cannot be used with this number of agents or on this grid.
   */
  CINOC_ERROR_SETTINGS = 4,
  /*
   The controller would need more memory than there is, or than `max_memory_mb` allows.
   */
  CINOC_ERROR_MEMORY = 5,
  /*
   An array has another length than the controller works with, or there are more agents than it was set
   up for.
   */
  CINOC_ERROR_LENGTH = 6,
  /*
   A number that was given is infinite or not a number.
   */
  CINOC_ERROR_NOT_FINITE = 7,
  /*
   An agent at work is outside of the domain.
   */
  CINOC_ERROR_POSITION = 8,
  /*
   The task tracks a target, and none was set; or the target is a density without mass.
   */
  CINOC_ERROR_TARGET = 9,
  /*
   The decision became infinite or not a number: what was given is far too large, or a density without
   mass.
   */
  CINOC_ERROR_OUTPUT = 10,
  /*
   Another thread is using this controller.
   */
  CINOC_ERROR_BUSY = 11,
  /*
   A fault of the library. The controller gives this code from now on: make another one, and report it.
   */
  CINOC_ERROR_INTERNAL = 12,
} CinocStatus;

/*
 A policy at work.
 */
typedef struct CinocController CinocController;

/*
 How a policy is set up. Set everything to 0, then `abi_version` to `CINOC_ABI_VERSION`.
 */
typedef struct {
  /*
   `CINOC_ABI_VERSION`.
   */
  uint32_t abi_version;
  /*
   Most agents of any decision; 0 for the number of the training. A decision takes the time of this
   many agents, however many are there.
   */
  uint32_t max_agents;
  /*
   Grid points of the fields along x; 0 for the grid of the training. At least the points of the
   reference lattice (`observe.n_ref`).
   */
  uint32_t grid_x;
  /*
   Grid points along y; 0 for the grid of the training.
   */
  uint32_t grid_y;
  /*
   Most memory that the controller may need, in megabytes; 0 for what the system has.
   */
  uint32_t max_memory_mb;
} CinocOptions;

/*
 Sizes, bounds and units of a controller. Lengths, times and fields are in the units of the task.
 */
typedef struct {
  /*
   Name of the task, such as "heat1d".
   */
  char task[32];
  /*
   Axes of the domain, 1 or 2.
   */
  uint32_t dims;
  /*
   Fields of the state.
   */
  uint32_t fields;
  /*
   Grid points along x and y; those along y are 0 in 1D.
   */
  uint32_t grid[2];
  /*
   Most agents of any decision.
   */
  uint32_t max_agents;
  /*
   Agents of the training.
   */
  uint32_t trained_agents;
  /*
   1 if agents have an intensity, else 0.
   */
  uint32_t has_u;
  /*
   1 if agents move, else 0.
   */
  uint32_t has_v;
  /*
   1 if the task tracks a target, which must be set; 0 if it drives the field to rest.
   */
  uint32_t tracks;
  /*
   1 if the ends of the domain are the same point, else 0.
   */
  uint32_t periodic;
  /*
   Numbers of a field or target: `fields * grid[0]`, in 2D times `grid[1]`.
   */
  size_t numbers;
  /*
   Length of the domain along x and y.
   */
  double length[2];
  /*
   Bound of intensities; 0 if there are none.
   */
  double u_max;
  /*
   Bound of every component of a velocity; 0 if agents do not move.
   */
  double v_max;
  /*
   Time between two decisions in training.
   */
  double control_interval;
  /*
   Way of an agent in one control interval, per unit of its velocity.
   */
  double way_per_velocity;
  /*
   Width of the Gaussian kernel by which an agent acts on the field.
   */
  double kernel_width;
  /*
   FNV-1a, 64 bits, of the bytes of the policy file.
   */
  uint64_t policy_hash;
} CinocInfo;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The interface that the library has; compare it with `CINOC_ABI_VERSION`.
 */
uint32_t cinoc_abi_version(void);

/*
 The version of the library, such as "0.1.0".
 */
const char *cinoc_version(void);

/*
 What a code means in general.
 */
const char *cinoc_status_text(uint32_t status);

/*
 Sets a policy file up; may take a second and much memory.

 `controller` gets the controller, or null. `text`, of `text_size` bytes, gets what went wrong, cut to fit;
 it may be null.

 # Safety
 `path` is a string that ends with a zero; `options` and `controller` point to one each; `text` has room
 for `text_size` bytes.
 */
CinocStatus cinoc_load(const char *path,
                       const CinocOptions *options,
                       CinocController **controller,
                       char *text,
                       size_t text_size);

/*
 The same from memory, for machines without files. `bytes` are not needed afterwards.

 # Safety
 `bytes` has `length` bytes; the rest as for `cinoc_load`.
 */
CinocStatus cinoc_load_bytes(const uint8_t *bytes,
                             size_t length,
                             const CinocOptions *options,
                             CinocController **controller,
                             char *text,
                             size_t text_size);

/*
 Sizes, bounds and units.

 # Safety
 `controller` is of `cinoc_load` and not freed; `info` has room for one.
 */
CinocStatus cinoc_describe(CinocController *controller, CinocInfo *info);

/*
 Where `agents` agents start in training: `xi[agent * dims + axis]`. For set-up: it allocates.

 # Safety
 `controller` is of `cinoc_load` and not freed; `xi` has room for `agents * dims` numbers.
 */
CinocStatus cinoc_start_positions(CinocController *controller, size_t agents, float *xi);

/*
 Sets what the field should become. It may change at any time, also before every decision: nothing is
 allocated. Without success the old target stays.

 `numbers` is that of `CinocInfo`; the order is that of `z` in `cinoc_decide`.

 # Safety
 `controller` is of `cinoc_load` and not freed; `target` has `numbers` numbers.
 */
CinocStatus cinoc_set_target(CinocController *controller,
                             const float *target,
                             size_t numbers);

/*
 What every agent does about a field. Allocates nothing, takes no lock, makes no system call.

 `z` is the field, `numbers` long: in 1D `z[i]` at `x = i length / (grid - 1)` (periodic: `/ grid`), in 2D
 `z[i * grid[1] + j]` with `i` along x; several fields one after the other. `xi[agent * dims + axis]` are
 the positions of `agents` agents, 1 to `max_agents`; the number may change from call to call.
 `alive[agent]` is 0 for an agent that has failed and anything else for one at work; null if all are. Of
 failed agents the positions are not read, and the actions are 0.

 `u[agent]` gets the intensities, `v[agent * dims + axis]` the velocities. One of them may be null if the
 task does not have it (`has_u`, `has_v`), and is not written then.

 After an error `u` and `v` have the last good action (0 before the first one), and 0 for agents that have
 failed. They are left as they were after `CINOC_ERROR_NULL`, `CINOC_ERROR_BUSY`, and `CINOC_ERROR_LENGTH`
 about `agents`.

 # Safety
 `controller` is of `cinoc_load` and not freed; the arrays have the lengths said above.
 */
CinocStatus cinoc_decide(CinocController *controller,
                         const float *z,
                         size_t numbers,
                         const float *xi,
                         const uint8_t *alive,
                         size_t agents,
                         float *u,
                         float *v);

/*
 What went wrong in the last call that failed, with names and numbers; empty if none has. Valid until the
 next call with this controller.

 # Safety
 `controller` is null, or of `cinoc_load` and not freed.
 */
const char *cinoc_message(const CinocController *controller);

/*
 Frees a controller. Null is fine.

 # Safety
 `controller` is null, or of `cinoc_load` and not freed, and no other thread is using it.
 */
void cinoc_free(CinocController *controller);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CINOC_H */
/* sha256 of the code and of the lines above: f3b035f974a6edcb79f8988c7f5443206526d838ad58d4fa5a88e3c6b392276c */
