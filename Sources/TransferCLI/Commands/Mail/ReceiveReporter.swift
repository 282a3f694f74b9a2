internal import TransferClient
private import TransferModel
private import TransferSystem

/// Turns what becomes of deliveries into what people and scripts read: results on standard output, talk on standard error.
actor ReceiveReporter: Asker {
    private let output: PushOutput
    private let directory: String
    private let program: DeliveryProgram?
    private let started = monotonicNanoseconds()
    private var progress: (any PushProgress)?
    private var paused: (any PushProgress)?
    private var printer = LinePrinter()
    private var received = (files: 0, bytes: UInt64(0))
    private var declined = 0
    private var tally = ResultTally()
    private var isConnected = false

    /// - Parameters:
    ///   - directory: that paths of reports are in.
    ///   - program: what is run for each delivery that is stored, if anything is.
    init(_ output: PushOutput, in directory: String, _ program: String?) {
        (self.output, self.directory) = (output, directory)
        self.program = program.map { DeliveryProgram($0) }
        progress = output.progress.makeProgress()
    }

    /// - Parameter isLast: whether no other event waits, so that what was collected has to be written.
    func show(_ event: ReceiveEvent, isLast: Bool) async {
        switch event {
        case .finished(let report): show(report)
        case .reconnecting(let reason, let seconds):
            let what = isConnected ? "connection lost" : "not connected"
            talk("\(what): \(reason.escapedForDisplay); trying again \(DurationFormat.after(seconds))")
        case .connected: isConnected = true
        case .met(let name, let key):
            let name = name.escapedForDisplay
            talk(
                "\(name)'s key is \(key), seen for the first time; compare it with what 'transfer whoami' says at \(name)'s"
            )
        case .progress, .found: break
        }
        // Before progress is drawn: the lines go where it stands.
        if isLast { flush() }
        if let event = event.asPush { progress?.update(event) }
        if case .finished(let report) = event, report.isNews { await run(report) }
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

    /// Where a file of a report is, as a path that can be opened.
    func place(_ report: ReceiveReport) -> String? {
        report.path.map { path in
            guard !directory.hasSameBytes(as: ".") else { return path }
            return directory.utf8.last == UInt8(ascii: "/") ? directory + path : "\(directory)/\(path)"
        }
    }

    /// Something beside the deliveries went wrong.
    func fail(_ message: String) {
        complain("transfer: \(message)")
        tally.add(.targetFailed)
    }

    /// Prints the summary.
    ///
    /// - Parameter failure: what ended it early.
    func finish(_ failure: PushFailure?) -> ExitCode {
        progress?.finish()
        progress = nil
        tally.isOutputLost = printer.finish() != .success
        if let failure {
            if output.isJSON { StandardStream.output.write(FailureDocument.json(failure).text + "\n") }
            complain("transfer: \(failure.message.escapedForDisplay)")
        }
        if received.files + declined + tally.failed.count > 0 {
            talk(summary)
        } else if failure == nil {
            talk("nothing was received")
        }
        return failure?.reason.exitCode ?? tally.exitCode
    }

    private func run(_ report: ReceiveReport) async {
        guard let program else { return }
        flush()
        progress?.clear()
        if let failure = await program.run(report.json(place(report)).text) { fail(failure) }
    }

    private func show(_ report: ReceiveReport) {
        tally.add(report.result)
        switch report.result {
        case .committed, .alreadyStored:
            received.files += 1
            received.bytes = received.bytes.addingClamped(report.size)
        case .completed: declined += 1
        default: break
        }
        if output.isJSON {
            printer.add(report.json(place(report)).text)
        } else if !report.result.isSuccess {
            complain(report.line)
        } else if !output.isQuiet {
            printer.add(report.line)
        }
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
        var text = "\(received.files) received, \(ByteFormat.size(received.bytes)) in \(seconds.shown(decimals: 2)) s"
        if declined > 0 { text += ", \(declined) declined" }
        if let failures = tally.failures { text += ", \(failures)" }
        return text
    }
}

extension ReceiveReport {
    /// Whether it is here, and the server knows it or need not: of what is kept there, only what was not here before.
    fileprivate var isNews: Bool {
        path != nil && result.isSuccess && (state == .delivered || result == .committed)
    }
}
