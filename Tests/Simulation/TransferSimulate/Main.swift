import Glibc
import TransferSimulation

/// Plays seed after seed until the time is over, the number of runs is reached, or a promise is broken; or plays
/// recorded cases.
///
/// Exits with 1 if a promise was broken, with 64 if the arguments are wrong, with 70 if a run does not end, and with 74
/// if a case cannot be read or written.
@main enum Main {
    private static let usage = """
        usage: transfer-simulate [OPTION...]
          --store KIND     directory (default), memory or cluster; recorded cases have their own
          --seed N         the first seed (default: from the clock, so that each run plays others)
          --step N         how far the next seed is from the last (default: 1)
          --runs N         end after so many seeds
          --seconds N      end after so many seconds
          --cpu-seconds N  end after so many seconds of processor time, however busy the machine is
          --keep-going     go on after a failure; at the end, print a table of the kinds of failures
          --quick          look for no fewer steps with which a failure happens
          --record DIR     write each failure into a file of DIR, which --cases plays
          --only N         play this seed alone, and print each call to the disk of a failure
          --cases DIR      play the recorded cases of DIR instead
          --case FILE      play this recorded case alone, and print each call to the disk

        """

    static func main() {
        guard let options = Options(CommandLine.arguments.dropFirst()) else {
            print(usage, terminator: "")
            exit(64)
        }
        // Deterministic hashing gives dictionaries the same order in all runs of a seed.
        if getenv("SWIFT_DETERMINISTIC_HASHING") == nil {
            setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
            var vector = CommandLine.arguments.map { strdup($0) } + [nil]
            execv("/proc/self/exe", &vector)
        }
        Hang.watch()
        Stop.watch()
        do {
            let isWell =
                if let file = options.texts["--case"] {
                    try play([file], tells: true)
                } else if let directory = options.texts["--cases"] {
                    try play(try Files.cases(in: directory), tells: false)
                } else {
                    try run(options)
                }
            exit(isWell ? 0 : 1)
        } catch {
            print("transfer-simulate: \(error)")
            exit(74)
        }
    }

    /// - Returns: whether no promise was broken.
    private static func play(_ files: [String], tells: Bool) throws -> Bool {
        var kinds = Kinds()
        var figures = Simulation.Figures()
        for file in files {
            let recorded = try RecordedCase(parsing: try Files.read(file))
            Hang.begins(recorded.seed)
            do throws(Simulation.FailedRun) {
                figures.add(try Simulation(tells: tells, isAlone: true).play(recorded))
            } catch {
                say("\(file): \(error.reason)")
                kinds.add(error.kind, file.split(separator: "/").last.map(String.init) ?? file)
            }
        }
        say("\(files.count) cases, \(figures.steps) steps, \(kinds.count) broken")
        say(kinds.table, terminator: "")
        return kinds.isEmpty
    }

    /// - Returns: whether no promise was broken.
    private static func run(_ options: Options) throws -> Bool {
        let only = options.numbers["--only"]
        let first = only ?? options.numbers["--seed"] ?? UInt64(time(nil)) &* 1_000_000
        let step = max(1, options.numbers["--step"] ?? 1)
        let most = only == nil ? options.numbers["--runs"] ?? .max : 1
        let simulation = Simulation(
            store: options.store, tells: only != nil, isAlone: true, shrinks: only != nil || !options.isQuick)
        var watch = Watch(seconds: options.numbers["--seconds"], processor: options.numbers["--cpu-seconds"])
        var figures = Simulation.Figures()
        var kinds = Kinds()
        var seed = first
        say("the first seed is \(first)")
        while figures.runs + UInt64(kinds.count) < most, !watch.isOver, !Stop.isAsked {
            if watch.wantsLine { say("\(watch.seconds) s: \(figures.line), now seed \(seed)") }
            Hang.begins(seed)
            do throws(Simulation.FailedRun) {
                figures.add(try simulation.run(seed: seed))
            } catch {
                say("\(error)", terminator: "")
                kinds.add(error.kind, "\(seed)")
                if let directory = options.texts["--record"], let recorded = error.recorded {
                    try Files.write("\(recorded)", to: "\(directory)/\(Files.name(of: error))")
                }
                if !options.keepsGoing { return false }
            }
            seed &+= step
        }
        let failures = kinds.isEmpty ? "" : ", \(kinds.count) seeds break a promise"
        say("\(watch.seconds) s: \(figures.line)\(failures), trace \(String(figures.trace, radix: 16))")
        say(kinds.table, terminator: "")
        return kinds.isEmpty
    }

    /// Prints at once, even into a file, because the next seed may end the process.
    private static func say(_ text: String, terminator: String = "\n") {
        print(text, terminator: terminator)
        fflush(nil)
    }
}

/// Flags of the command line, with their values.
private struct Options {
    var numbers: [String: UInt64] = [:]
    var texts: [String: String] = [:]
    var store = Simulation.StoreKind.directory
    var isQuick = false
    var keepsGoing = false

    /// - Returns: nil if an argument is unknown or its value is missing.
    init?(_ arguments: ArraySlice<String>) {
        var words = arguments
        while let name = words.popFirst() {
            switch name {
            case "--quick": isQuick = true
            case "--keep-going": keepsGoing = true
            case "--seconds", "--cpu-seconds", "--seed", "--runs", "--step", "--only":
                guard let number = words.popFirst().flatMap({ UInt64($0) }) else { return nil }
                numbers[name] = number
            case "--store":
                guard let kind = words.popFirst().flatMap({ Simulation.StoreKind(rawValue: $0) }) else { return nil }
                store = kind
            case "--record", "--cases", "--case":
                guard let text = words.popFirst() else { return nil }
                texts[name] = text
            default: return nil
            }
        }
        // Only a failure that was shrunk can be recorded.
        if isQuick, texts["--record"] != nil { return nil }
    }
}

/// Limits the duration of all runs, by wall clock and by processor time.
private struct Watch {
    private static let secondsBetweenLines = 10

    private let began = time(nil)
    private let mostSeconds: Int?
    private let mostProcessor: Int?
    private var nextLine: Int

    init(seconds: UInt64?, processor: UInt64?) {
        mostSeconds = seconds.flatMap { Int(exactly: $0) }
        mostProcessor = processor.flatMap { Int(exactly: $0) }
        nextLine = began + Self.secondsBetweenLines
    }

    var seconds: Int { time(nil) - began }

    var isOver: Bool {
        if let mostSeconds, seconds >= mostSeconds { return true }
        guard let mostProcessor else { return false }
        var spent = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent)
        return spent.tv_sec >= mostProcessor
    }

    /// Whether a line about progress is due. Each due time counts once.
    var wantsLine: Bool {
        mutating get {
            guard time(nil) >= nextLine else { return false }
            nextLine += Self.secondsBetweenLines
            return true
        }
    }
}

/// Failures, grouped and counted by kind.
private struct Kinds {
    /// The largest number of seeds or files that the table names for each kind.
    private static let named = 5

    private var found: [String: (count: Int, first: [String])] = [:]

    var isEmpty: Bool { found.isEmpty }
    var count: Int { found.values.reduce(0) { $0 + $1.count } }

    mutating func add(_ kind: String, _ name: String) {
        var entry = found[kind] ?? (0, [])
        entry.count += 1
        if entry.first.count < Self.named { entry.first.append(name) }
        found[kind] = entry
    }

    /// A line for each kind, the most frequent first; empty without failures.
    var table: String {
        found.sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }.map { kind, entry in
            let more = entry.count > entry.first.count ? ", …" : ""
            return "\(entry.count)\t\(kind)\t(\(entry.first.joined(separator: ", "))\(more))\n"
        }.joined()
    }
}

extension Simulation.Figures {
    fileprivate var line: String {
        "\(runs) runs, \(steps) steps, \(calls) calls, \(acknowledgements) uploads acknowledged"
    }
}
