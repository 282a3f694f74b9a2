import TransferClient
private import TransferModel
private import TransferSystem

/// Prints the events of a watch: a line for each upload on standard output, messages on standard error.
actor WatchReporter {
    private let output: PushOutput
    private let endsWhenSent: Bool
    private var tally = WatchTally()
    private var lostOutput: SystemError?

    init(_ output: PushOutput, endsWhenSent: Bool) {
        (self.output, self.endsWhenSent) = (output, endsWhenSent)
    }

    func show(_ event: WatchEvent) {
        switch event {
        case .watching(let directory, let known):
            talk("watching \(directory.escapedForDisplay), known to be stored: \(known)")
        case .gone(let directory):
            talk("\(directory.escapedForDisplay) does not exist; waiting for it")
        case .lost(let reason):
            talk("no connection: \(reason.asClause.escapedForDisplay); retrying until there is one")
        case .back(let seconds): talk("connected again after \(DurationFormat.clock(seconds))")
        case .finished(let report, let fate): show(report, fate)
        case .held(let source, let reason):
            tally.add(held: source)
            print("not sent  \(source.escapedForDisplay): \(reason.escapedForDisplay)\n", to: .error)
        case .notice(let sentence): print("\(sentence.escapedForDisplay)\n", to: .error)
        }
    }

    /// Prints the summary.
    ///
    /// - Parameter failure: the failure that ended the watch early; nil if it was stopped.
    func finish(_ failure: TransferFailure?) -> ExitCode {
        // With `--once`, an interruption is a failure, because not everything was sent.
        let isCut = failure == nil && endsWhenSent && Interruption.hasCome
        let failure = isCut ? TransferFailure(reason: .cancelled, message: "") : failure
        if let failure { tell(tally.work.named(failure)) }
        if !isCut, failure == nil || !tally.isEmpty {
            talk("\(endsWhenSent && failure == nil ? "done" : "stopped"): \(tally.summary)")
        }
        if let lostOutput { print("transfer: cannot write to standard output: \(lostOutput.reason)\n", to: .error) }
        if let failure { return failure.reason.exitCode }
        return lostOutput != nil || endsWhenSent && tally.hasFailures ? .uploadsFailed : .success
    }

    private func tell(_ failure: TransferFailure) {
        if output.isJSON { print(FailureDocument.json(failure).text + "\n", to: .output) }
        let text = failure.reason == .cancelled ? tally.work.line() : failure.message.escapedForDisplay
        print("transfer: \(text)\n", to: .error)
    }

    private func show(_ report: UploadReport, _ fate: SourceFate) {
        tally.add(report, fate)
        if output.isJSON {
            print(json(report, fate).text + "\n", to: .output)
        } else if !report.result.isSuccess {
            print("\(report.line(colours: output.hasColours(.error)))\n", to: .error)
        } else if !output.isQuiet {
            print(line(report, fate) + "\n", to: .output)
        }
        guard case .kept(let reason) = fate else { return }
        print("not removed  \(report.source.escapedForDisplay): \(reason.escapedForDisplay)\n", to: .error)
    }

    private func line(_ report: UploadReport, _ fate: SourceFate) -> String {
        guard case .moved(let path) = fate else {
            return report.line(colours: output.hasColours(.output), columns: Terminal.columns(of: .output))
        }
        return "\(report.line(colours: output.hasColours(.output)))  moved to \(path.escapedForDisplay)"
    }

    /// The object that a push prints, with the new path of the source in addition.
    private func json(_ report: UploadReport, _ fate: SourceFate) -> JSONLine {
        var line = report.json(fate == .removed ? .removed : nil)
        if case .moved(let path) = fate { line.append("movedTo", .string(path)) } else { line.append("movedTo", .null) }
        return line
    }

    private func talk(_ text: String) {
        guard !output.isQuiet else { return }
        print("\(text)\n", to: .error)
    }

    private func print(_ text: String, to stream: StandardStream) {
        let loss = stream.write(text)
        if stream == .output { lostOutput = lostOutput ?? loss }
    }
}
