import Glibc
import TransferSimulation

/// `transfer-simulate [--seconds N] [--seed N] [--only N] [--quick]`: runs one seed after the other until the time is over
/// or a promise is broken. `--quick` says so at once, and looks for no shorter way to it.
@main enum Main {
    static func main() {
        let arguments = CommandLine.arguments
        func number(_ name: String) -> UInt64? {
            arguments.firstIndex(of: name).flatMap { $0 + 1 < arguments.count ? UInt64(arguments[$0 + 1]) : nil }
        }
        // Dictionaries have one order for all runs of a seed then.
        if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
            setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
            var words = arguments.map { strdup($0) } + [nil]
            execv("/proc/self/exe", &words)
        }
        if let seed = number("--only") { return run([seed], tells: true) }
        let first = number("--seed") ?? UInt64(time(nil)) &* 1_000_000
        run(first..., until: number("--seconds").map { time(nil) + Int($0) })
    }

    private static var isQuick: Bool { CommandLine.arguments.contains("--quick") }

    private static func run(_ seeds: some Sequence<UInt64>, until end: Int? = nil, tells: Bool = false) {
        var figures = Simulation.Figures()
        let began = time(nil)
        var next = began + 10
        for seed in seeds {
            if let end, time(nil) >= end { break }
            if time(nil) >= next {
                next += 10
                tell(figures, since: began, seed)
            }
            do throws(Simulation.Failure) {
                figures.add(try Simulation(tells: tells, isAlone: true, shrinks: tells || !isQuick).run(seed: seed))
            } catch {
                print(error)
                exit(1)
            }
        }
        tell(figures, since: began, nil)
    }

    private static func tell(_ figures: Simulation.Figures, since began: Int, _ seed: UInt64?) {
        print(
            "\(time(nil) - began) s: \(figures.runs) runs, \(figures.steps) steps, \(figures.calls) calls to the disk, "
                + "\(figures.acknowledgements) uploads acknowledged" + (seed.map { ", now seed \($0)" } ?? ""))
    }
}
