import TransferModel
import TransferServer
import TransferSystem

/// Prints findings and a summary on standard output, and draws progress on a terminal.
final class VerifyPrinter: Sendable {
    private struct State {
        var isShown = false
        var lostOutput: SystemError?
    }

    private let output: PushOutput
    private let state = Locked(State())

    init(_ output: PushOutput) {
        self.output = output
    }

    func print(_ finding: ScrubFinding) {
        write(output.isJSON ? finding.json.text : finding.line)
    }

    /// Draws the progress line on standard error.
    func show(_ progress: ScrubProgress) {
        state.withLock { state in
            state.isShown = true
            StandardStream.error.write("\r\(progress.line)\u{1B}[K")
        }
    }

    /// Erases the progress line from the terminal.
    func clear() {
        state.withLock { Self.clear(&$0) }
    }

    func finish(_ summary: ScrubSummary) -> ExitCode {
        clear()
        if output.isJSON {
            write(summary.json.text)
        } else if !output.isQuiet {
            for line in summary.lines { write(line) }
        }
        guard let loss = state.withLock({ $0.lostOutput }) else { return summary.isWell ? .success : .uploadsFailed }
        StandardStream.error.write("transfer: cannot write the findings to standard output: \(loss.reason)\n")
        return .fault
    }

    private func write(_ line: String) {
        state.withLock { state in
            Self.clear(&state)
            let loss = StandardStream.output.write(line + "\n")
            state.lostOutput = state.lostOutput ?? loss
        }
    }

    private static func clear(_ state: inout State) {
        guard state.isShown else { return }
        state.isShown = false
        StandardStream.error.write("\r\u{1B}[K")
    }
}
