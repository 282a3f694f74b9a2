internal import TransferModel

/// How many of the things that a command was to do were done.
struct ResultTally {
    private(set) var done = 0
    private(set) var failed: [ResultCode: Int] = [:]

    /// Whether what was printed could not be.
    var isOutputLost = false

    mutating func add(_ code: ResultCode) {
        if code.isSuccess { done += 1 } else { failed[code, default: 0] += 1 }
    }

    /// The failures with their numbers; nothing when there is none.
    var failures: String? {
        guard !failed.isEmpty else { return nil }
        let sorted = failed.sorted { $0.key.rawValue < $1.key.rawValue }
        let count = sorted.reduce(0) { $0 + $1.value }
        return "\(count) failed (" + sorted.map { "\($0.value) \($0.key)" }.joined(separator: ", ") + ")"
    }

    var exitCode: ExitCode {
        if isOutputLost { return .uploadsFailed }
        guard done == 0 else { return failed.isEmpty ? .success : .uploadsFailed }
        // Nothing was done, and all for one reason that the exit code can tell.
        let codes = Set(failed.keys.map(\.exitCode))
        guard let code = codes.first else { return .success }
        return codes.count == 1 ? ExitCode(rawValue: code) ?? .uploadsFailed : .uploadsFailed
    }
}
