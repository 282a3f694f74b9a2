private import Glibc
import TransferClient
private import TransferProtocol
private import TransferSystem

/// Turns the events of a push into what people and scripts read: results on standard output, talk on standard error.
actor PushReporter {
    private let output: PushOutput
    private let started = monotonicNanoseconds()
    private var line: LiveLine?
    private var pausedLine: LiveLine?
    private var committed = (files: 0, bytes: UInt64(0))
    private var failed: [ResultCode: Int] = [:]
    private var skipped = 0
    private var lostOutput: SystemError?
    private var isConnected = false

    /// What the command line names: to skip it, unlike something inside a directory, is to fail.
    private let operands: Set<String>

    private let receipts: ReceiptFile?

    /// - Parameter receipts: where to keep those that come with the reports.
    init(_ output: PushOutput, operands: Set<String>, receipts: ReceiptFile? = nil) {
        self.output = output
        self.operands = operands
        self.receipts = receipts
        line = output.showsProgress ? LiveLine() : nil
    }

    /// - Parameter isLast: whether no other event waits, so that what was collected has to be written.
    func show(_ event: PushEvent, isLast: Bool) {
        defer { if isLast { receipts?.flush() } }
        switch event {
        case .finished(let report): show(report)
        case .reconnecting(let reason, let seconds):
            let what = isConnected ? "connection lost" : "not let in"
            talk("\(what): \(reason.escapedForDisplay); trying again in \(ByteFormat.duration(seconds))")
        case .connected: isConnected = true
        case .counted, .progress: break
        }
        line?.update(event)
    }

    /// Draws the live line anew: rate and time left change also when nothing happens.
    func refresh() {
        line?.refresh()
    }

    /// Puts a question; nothing is drawn before it is answered.
    func ask(_ question: String) {
        line?.clear()
        pausedLine = line
        line = nil
        StandardStream.error.write(question)
    }

    /// The question was answered.
    func answered() {
        line = pausedLine
        pausedLine = nil
    }

    /// Prints the summary.
    ///
    /// - Parameter failure: what ended the push early.
    func finish(_ failure: PushFailure?) -> ExitCode {
        line?.clear()
        line = nil
        if let failure { StandardStream.error.write("transfer: \(failure.message.escapedForDisplay)\n") }
        if committed.files + failed.count + skipped > 0 {
            talk(summary)
        } else if failure == nil {
            talk("there was no file to push")
        }
        if let lostReceipts = receipts?.close() {
            StandardStream.error.write("transfer: cannot keep the receipts: \(lostReceipts.reason)\n")
            return .uploadsFailed
        }
        guard let lostOutput else { return exitCode(failure) }
        StandardStream.error.write("transfer: cannot write the results to standard output: \(lostOutput.reason)\n")
        return .uploadsFailed
    }

    private func show(_ report: UploadReport) {
        if let receipt = report.receipt { receipts?.append(receipt) }
        switch report.result {
        case .skipped: skipped += 1
        case .sourceSkipped where !operands.contains(report.source): skipped += 1
        case let code where code.isSuccess:
            committed.files += 1
            committed.bytes = committed.bytes.addingClamped(report.size)
        case let code: failed[code, default: 0] += 1
        }
        // Kept before it is shown: who reads of an upload finds its receipt.
        if output.isJSON || !output.isQuiet || !report.result.isSuccess { receipts?.flush() }
        if output.isJSON {
            print(report.json.text + "\n", to: .output)
        } else if !report.result.isSuccess {
            print("\(report.line)\n", to: .error)
        } else if !output.isQuiet {
            print("\(report.line)\n", to: .output)
        }
    }

    private func talk(_ text: String) {
        guard !output.isQuiet else { return }
        print("\(text)\n", to: .error)
    }

    private func print(_ text: String, to stream: StandardStream) {
        line?.clear()
        let loss = stream.write(text)
        if stream == .output { lostOutput = lostOutput ?? loss }
    }

    private var summary: String {
        let seconds = Double(monotonicNanoseconds() - started) / 1e9
        let rate = ByteFormat.rate(Double(committed.bytes) / max(seconds, 1e-9))
        var text = "\(committed.files) stored, \(ByteFormat.size(committed.bytes)) in \(seconds.shown) s (\(rate))"
        if skipped > 0 { text += ", \(skipped) skipped" }
        let failures = failed.sorted { $0.key.rawValue < $1.key.rawValue }
        if !failures.isEmpty {
            let count = failures.reduce(0) { $0 + $1.value }
            text += ", \(count) failed (" + failures.map { "\($0.value) \($0.key)" }.joined(separator: ", ") + ")"
        }
        return text
    }

    private func exitCode(_ failure: PushFailure?) -> ExitCode {
        if let failure { return failure.reason.exitCode }
        guard committed.files == 0 else { return failed.isEmpty ? .success : .uploadsFailed }
        // Nothing was stored, and all for one reason that the exit code can tell.
        let codes = Set(failed.keys.map(\.exitCode))
        guard let code = codes.first else { return .success }
        return codes.count == 1 ? ExitCode(rawValue: code) ?? .uploadsFailed : .uploadsFailed
    }
}

extension PushReporter: Asker {}

extension Double {
    /// Seconds with two digits behind the point.
    fileprivate var shown: String {
        let hundredths = Int64((self * 100).rounded())
        return "\(hundredths / 100)." + (hundredths % 100 < 10 ? "0" : "") + "\(hundredths % 100)"
    }
}
