internal import TransferModel

/// Counts the results of a command's requests.
struct ResultTally {
    private(set) var done = 0
    private(set) var failed: [ResultCode: Int] = [:]

    /// Whether a part of the output could not be written.
    var isOutputLost = false

    mutating func add(_ code: ResultCode) {
        if code.isSuccess { done += 1 } else { failed[code, default: 0] += 1 }
    }

    /// The failures by result code, for a summary; nil without failures.
    var failures: String? {
        guard !failed.isEmpty else { return nil }
        let sorted = failed.sorted { $0.key.rawValue < $1.key.rawValue }
        let count = sorted.reduce(0) { $0 + $1.value }
        return "\(count) failed (" + sorted.map { "\($0.value) \($0.key)" }.joined(separator: ", ") + ")"
    }

    var exitCode: ExitCode {
        if isOutputLost { return .uploadsFailed }
        guard done == 0 else { return failed.isEmpty ? .success : .uploadsFailed }
        // If every request failed for the same reason, the exit code can say which.
        let codes = Set(failed.keys.map(\.exitCode))
        guard let code = codes.first else { return .success }
        return codes.count == 1 ? ExitCode(rawValue: code) ?? .uploadsFailed : .uploadsFailed
    }
}
