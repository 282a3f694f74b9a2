import Glibc
import TransferSimulation

/// `transfer-simulate [--seconds N] [--seed N] [--runs N] [--step N] [--only N] [--quick]`: runs one seed after the other until
/// the time is over, so many have run, or a promise is broken. `--step` leaves seeds out, for others that run at the same
/// time. `--quick` says at once what is broken, and looks for no shorter way to it.
@main enum Main {
    static func main() {
        let arguments = CommandLine.arguments
        var numbers: [String: UInt64] = [:]
        var words = arguments.dropFirst()
        while let name = words.popFirst() {
            if name == "--quick" { continue }
            guard ["--seconds", "--seed", "--runs", "--step", "--only"].contains(name),
                let number = words.popFirst().flatMap({ UInt64($0) })
            else {
                print("usage: transfer-simulate [--seconds N] [--seed N] [--runs N] [--step N] [--only N] [--quick]")
                exit(64)
            }
            numbers[name] = number
        }
        // Dictionaries have one order for all runs of a seed then.
        if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
            setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
            var vector = arguments.map { strdup($0) } + [nil]
            execv("/proc/self/exe", &vector)
        }
        if let seed = numbers["--only"] { return run(from: seed, by: 1, atMost: 1, tells: true) }
        run(
            from: numbers["--seed"] ?? UInt64(time(nil)) &* 1_000_000, by: max(1, numbers["--step"] ?? 1),
            atMost: numbers["--runs"], until: numbers["--seconds"].map { time(nil) + Int($0) })
    }

    private static var isQuick: Bool { CommandLine.arguments.contains("--quick") }

    private static func run(
        from first: UInt64, by step: UInt64, atMost most: UInt64?, until end: Int? = nil, tells: Bool = false
    ) {
        var figures = Simulation.Figures()
        var seed = first
        let began = time(nil)
        var next = began + 10
        while figures.runs < most ?? .max {
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
            seed &+= step
        }
        tell(figures, since: began, nil)
    }

    private static func tell(_ figures: Simulation.Figures, since began: Int, _ seed: UInt64?) {
        print(
            "\(time(nil) - began) s: \(figures.runs) runs, \(figures.steps) steps, \(figures.calls) calls to the disk, "
                + "\(figures.acknowledgements) uploads acknowledged"
                + (seed.map { ", now seed \($0)" } ?? ", trace \(String(figures.trace, radix: 16))"))
        fflush(nil)
    }
}
