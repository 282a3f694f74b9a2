internal import TransferClient
private import TransferModel
private import TransferSystem

/// Turns the events of a pull into what people and scripts read: results on standard output, talk on standard error.
actor PullReporter: Asker {
    private let output: PushOutput
    private let started = monotonicNanoseconds()
    private var progress: PullProgress?
    private var paused: PullProgress?
    private var printer = LinePrinter()
    private var fetched = (files: 0, bytes: UInt64(0))
    private var present = 0
    private var skipped = 0
    private var tally = ResultTally()
    private var isConnected = false

    init(_ output: PushOutput) {
        self.output = output
        progress = PullProgress(output.progress)
    }

    /// - Parameter isLast: whether no other event waits, so that what was collected has to be written.
    func show(_ event: PullEvent, isLast: Bool) {
        switch event {
        case .finished(let report): show(report)
        case .known(let folder): show(folder)
        case .reconnecting(let reason, let seconds):
            let what = isConnected ? "connection lost" : "not let in"
            talk("\(what): \(reason.escapedForDisplay); trying again \(DurationFormat.after(seconds))")
        case .connected: isConnected = true
        case .progress: break
        }
        // Before progress is drawn: the lines go where it stands.
        if isLast { flush() }
        progress?.update(event)
    }

    /// Draws progress anew: rate and time left change also when nothing happens.
    func refresh() {
        progress?.refresh()
    }

    func ask(_ question: String) {
        flush()
        progress?.clear()
        paused = progress
        progress = nil
        StandardStream.error.write(question)
    }

    func answered() {
        progress = paused
        paused = nil
    }

    /// Prints the summary.
    ///
    /// - Parameter failure: what ended the pull early.
    func finish(_ failure: PushFailure?) -> ExitCode {
        progress?.finish()
        progress = nil
        tally.isOutputLost = printer.finish() != .success
        if let failure { complain("transfer: \(failure.message.escapedForDisplay)") }
        if fetched.files + present + skipped + tally.failed.count > 0 {
            talk(summary)
        } else if failure == nil {
            talk("there was no file to pull")
        }
        return failure?.reason.exitCode ?? tally.exitCode
    }

    private func show(_ report: PullReport) {
        tally.add(report.result)
        switch report.result {
        case .alreadyStored: present += 1
        case .skipped: skipped += 1
        case .committed:
            fetched.files += 1
            fetched.bytes = fetched.bytes.addingClamped(report.size)
        default: break
        }
        if output.isJSON {
            print(report.json.text)
        } else if !report.result.isSuccess {
            complain(report.line)
        } else if !output.isQuiet {
            print(report.line)
        }
    }

    private func show(_ folder: KnownFolder) {
        present += folder.files
        if !output.isQuiet { print(folder.line(colours: false)) }
    }

    private func print(_ line: String) {
        printer.add(line)
        if printer.isFull { flush() }
    }

    /// Writes the lines that wait, in the place of progress.
    private func flush() {
        guard !printer.isEmpty else { return }
        progress?.clear()
        printer.flush()
    }

    private func talk(_ text: String) {
        if !output.isQuiet { complain(text) }
    }

    private func complain(_ text: String) {
        flush()
        progress?.clear()
        StandardStream.error.write(output.progress == .json ? JSONProgress.message(text) : "\(text)\n")
    }

    private var summary: String {
        let seconds = Double(monotonicNanoseconds() - started) / 1e9
        let rate = ByteFormat.rate(Double(fetched.bytes) / max(seconds, 1e-9))
        let pace = "\(seconds.shown(decimals: 2)) s (\(rate))"
        var text = "\(fetched.files) fetched, \(ByteFormat.size(fetched.bytes)) in \(pace)"
        if present > 0 { text += ", \(present) already here" }
        if skipped > 0 { text += ", \(skipped) skipped" }
        if let failures = tally.failures { text += ", \(failures)" }
        return text
    }
}

extension PullReport {
    /// One line for people.
    fileprivate var line: String {
        let place = path.map { $0.hasSameBytes(as: source) ? $0 : "\(source) -> \($0)" } ?? source
        var text = "\(result)  \(place.escapedForDisplay)"
        if let digest, result.isSuccess {
            text += "  \(ByteFormat.size(size))  \(digest)"
        } else if !message.isEmpty {
            text += ": \(message.escapedForDisplay)"
        }
        return text
    }

    /// The object of `--json`; every key is always there.
    fileprivate var json: JSONLine {
        [
            "schema": .string(JSONSchema.download), "source": .string(source), "result": .string(result.name),
            "path": path.map { .string($0) } ?? .null,
            "size": .integer(size), "digest": digest.map { .string($0.description) } ?? .null,
            "resumed": .integer(resumed), "seconds": .double(seconds), "message": .string(message),
        ]
    }
}
