// Two rods, two threads, a controller for each; the number of agents and the target change while they run.
//
//     swarm POLICY [STEPS]
//
// POLICY is policies/heat1d.safetensors. Ends with 1 if a rod does not follow its target.

#include <cinoc.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "rod.h"

// A controller that frees itself, and throws where it is set up. In the loop, codes are returned.
class Controller {
public:
    Controller(const std::string &path, unsigned max_agents)
    {
        CinocOptions options = {};
        options.abi_version = CINOC_ABI_VERSION;
        options.max_agents = max_agents;
        CinocController *made = nullptr;
        char text[256];
        if (cinoc_load(path.c_str(), &options, &made, text, sizeof text) != CINOC_OK)
            throw std::runtime_error(text);
        controller.reset(made);
        cinoc_describe(made, &info);
    }

    std::vector<float> start_positions(std::size_t agents)
    {
        std::vector<float> xi(agents * info.dims);
        check(cinoc_start_positions(controller.get(), agents, xi.data()));
        return xi;
    }

    CinocStatus aim(const std::vector<float> &target) noexcept
    {
        return cinoc_set_target(controller.get(), target.data(), target.size());
    }

    // The vectors have room for all agents; the first ones are there.
    CinocStatus decide(const std::vector<float> &z, const std::vector<float> &xi, std::size_t agents,
                       std::vector<float> &u, std::vector<float> &v) noexcept
    {
        return cinoc_decide(controller.get(), z.data(), z.size(), xi.data(), nullptr, agents, u.data(), v.data());
    }

    void check(CinocStatus status)
    {
        if (status != CINOC_OK)
            throw std::runtime_error(cinoc_message(controller.get()));
    }

    CinocInfo info;

private:
    struct Free {
        void operator()(CinocController *made) const { cinoc_free(made); }
    };
    std::unique_ptr<CinocController, Free> controller;
};

// A bump that wanders from one place to another; 0 at both ends.
static void bump(std::vector<float> &target, double at)
{
    for (std::size_t i = 0; i < target.size(); i++) {
        const double x = rod_x(i), d = (x - at) / 0.25;
        target[i] = static_cast<float>(std::exp(-d * d) * std::sin(3.14159265358979 * x));
    }
    target.back() = 0.0f;
}

// Error of the second half of the way: the mean over time.
static double follow(const std::string &policy, double from, double to, long steps)
{
    const std::size_t most = 24;
    Controller controller(policy, most);
    std::vector<float> places = controller.start_positions(most), xi(most), u(most), v(most);
    // the last agents leave first: neighbours in the list are far from each other on the rod
    for (std::size_t k = 0; k < most; k++)
        xi[k] = places[k * 7 % most];
    std::vector<float> z(controller.info.numbers), target(controller.info.numbers);
    if (z.size() != ROD_POINTS)
        throw std::runtime_error("must be a policy for heat1d");
    Rod rod = {};
    double sum = 0.0;
    std::size_t agents = most;
    for (long step = 0; step < steps; step++) {
        // agents leave one after the other, until there are eight
        agents = most - static_cast<std::size_t>(step * 17 / steps);
        bump(target, from + (to - from) * static_cast<double>(step) / static_cast<double>(steps));
        rod_measure(&rod, z.data());
        controller.check(controller.aim(target));
        controller.check(controller.decide(z, xi, agents, u, v));
        rod_step(&rod, xi.data(), u.data(), agents);
        for (std::size_t k = 0; k < agents; k++)
            xi[k] = rod_move(xi[k], v[k]);
        if (2 * step >= steps)
            sum += rod_error(&rod, target.data());
    }
    return sum / static_cast<double>(steps - (steps + 1) / 2);
}

int main(int count, char **arguments)
{
    if (count < 2) {
        std::fprintf(stderr, "usage: swarm POLICY [STEPS]\n");
        return 2;
    }
    const std::string policy = arguments[1];
    const long steps = count > 2 ? std::atol(arguments[2]) : 1000;
    double errors[2] = {0.0, 0.0};
    std::string failures[2];
    const auto run = [&](int rod, double from, double to) {
        try {
            errors[rod] = follow(policy, from, to, steps);
        } catch (const std::exception &failure) {
            failures[rod] = failure.what();
        }
    };
    std::thread other(run, 1, 0.7, 0.4);
    run(0, 0.3, 0.7);
    other.join();
    for (int rod = 0; rod < 2; rod++) {
        if (!failures[rod].empty()) {
            std::fprintf(stderr, "swarm: %s\n", failures[rod].c_str());
            return 1;
        }
        std::printf("rod %d: 24 agents become 8 while the target moves; mean square error %.1e\n", rod,
                    errors[rod]);
    }
    // a run that is long enough has caught up with its target
    return steps < 1000 || (errors[0] < 1e-3 && errors[1] < 1e-3) ? 0 : 1;
}
