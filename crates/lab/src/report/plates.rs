//! The figures of a report with their captions.

use cinoc_figure::Figure;

use super::Report;
use crate::Evaluated;
use crate::figures::{learning_curve, snapshots, snapshots_2d, space_time, time_courses};
use crate::run_2d::Run2d;
use crate::training_log::TrainingLog;

/// A figure of the report.
pub(super) struct Plate {
    /// File name without extension.
    pub name: &'static str,
    /// The picture.
    pub figure: Figure,
    /// One sentence.
    pub caption: String,
}

impl Report<'_> {
    /// All figures. If the log has no updates, there is no learning curve.
    pub(super) fn plates(&self, log: &TrainingLog) -> Vec<Plate> {
        let width = self.format.width;
        let evaluated = &Evaluated { config: self.config, cases: self.cases, rollouts: self.rollouts };
        let (case, count) = (evaluated.median_case(), self.cases.count);
        let which = format!("case {case} (from 0) of {count}, the one with the median final error");
        let others = if evaluated.targets_move() {
            "and the target (c), in the same colours, and the remaining error (d)"
        } else {
            "in the same colours, and the remaining error (c)"
        };
        let mut plates = match Run2d::of_case(evaluated, case) {
            Ok(run) => vec![Plate {
                name: "snapshots",
                figure: snapshots_2d(&run, width),
                caption: format!("{}: {which}.", rows(&run)),
            }],
            Err(_) => vec![
                Plate {
                    name: "space_time",
                    figure: space_time(evaluated, case, width),
                    caption: format!(
                        "The field without control (a), the field with control and the agents' paths (b), \
                         {others}, with colours clipped at the 95th percentile: {which}."
                    ),
                },
                Plate {
                    name: "snapshots",
                    figure: snapshots(evaluated, case, width),
                    caption: format!(
                        "The same case at a few times, agents as triangles on the axis: {which}."
                    ),
                },
            ],
        };
        plates.push(Plate {
            name: "time_courses",
            figure: time_courses(evaluated, width),
            caption: format!(
                "Error and effort over time: median and 10–90 % band over {count} cases, actions as means \
                     over the agents."
            ),
        });
        if !log.is_empty() {
            plates.push(Plate {
                name: "learning_curve",
                figure: learning_curve(log, self.policy.config.train.clip, width),
                caption:
                    "The training: what each term contributes to the loss, and the loss on validation cases \
                     (a), the \
                          gradient's norm before it is clipped (b), and the learning rate (c)."
                        .to_string(),
            });
        }
        plates
    }
}

/// What the rows and the last column of snapshots show.
fn rows(run: &Run2d) -> String {
    let last = match run.targets.len() {
        0 => "",
        1 => {
            "; at the end of the rows, the target and the error that remains at the end, in colours of its \
             own"
        }
        _ => {
            "; at the end of the rows, the target and the error at the end, in colours of its own; the \
             target moves"
        }
    };
    format!("The field without control (upper row) and with control (lower row), in the same colours{last}")
}
