internal import TransferClient
private import TransferModel
private import TransferSystem

/// Prints the events of a receive command: results on standard output, messages on standard error.
actor ReceiveReporter: Asker {
    private let output: PushOutput
    private let directory: String
    private let program: DeliveryProgram?
    private let started = monotonicNanoseconds()
    private var lines: ResultLines
    private var received = (files: 0, bytes: UInt64(0))
    private var declined = 0
    private var tally = ResultTally()

    /// - Parameters:
    ///   - directory: the folder to which the paths in reports are relative.
    ///   - program: the program that `--exec` names; nil if the flag is not given.
    init(_ output: PushOutput, in directory: String, _ program: String?) {
        (self.output, self.directory) = (output, directory)
        self.program = program.map { DeliveryProgram($0) }
        lines = ResultLines(output)
    }

    /// - Parameter isLast: whether no other event is waiting, so that buffered output must be written.
    func show(_ event: ReceiveEvent, isLast: Bool) async {
        switch event {
        case .finished(let report): show(report)
        case .met(let name, let key):
            let name = name.escapedForDisplay
            lines.talk(
                "\(name)'s key is \(key), seen for the first time; compare it with what 'transfer "
                    + "whoami' says at \(name)'s"
            )
        case .connected, .reconnecting, .progress, .found: break
        }
        lines.update(event.asPush, isLast: isLast)
        if case .finished(let report) = event, report.isNews { await run(report) }
    }

    /// Redraws progress: rate and time left also change without events.
    func refresh() { lines.refresh() }

    func ask(_ question: String) { lines.ask(question) }

    func answered() { lines.answered() }

    /// The path of a stored file, relative to the working directory.
    func place(_ report: ReceiveReport) -> String? {
        report.path.map { path in
            guard !directory.hasSameBytes(as: ".") else { return path }
            return directory.utf8.last == UInt8(ascii: "/") ? directory + path : "\(directory)/\(path)"
        }
    }

    /// Prints a message that belongs to no result.
    func tell(_ message: String) { lines.talk(message) }

    /// Reports a failure that belongs to no delivery.
    func fail(_ message: String) {
        lines.complain("transfer: \(message)")
        tally.add(.targetFailed)
    }

    /// Prints the summary.
    ///
    /// - Parameter failure: the failure that ended the command early; nil otherwise.
    func finish(_ failure: TransferFailure?) -> ExitCode {
        var work = StoppedWork("receive")
        (work.nouns, work.files, work.bytes) = (("delivery", "deliveries"), received.files, received.bytes)
        tally.isOutputLost = lines.finish(failure, work)
        if failure?.reason == .cancelled, Interruption.hasCome {
            // After an interruption, `lines.finish` has already printed the one line.
        } else if received.files + declined + tally.failed.count > 0 {
            lines.talk(summary)
        } else if failure == nil {
            lines.talk("nothing was received")
        }
        return failure?.reason.exitCode ?? tally.exitCode
    }

    private func run(_ report: ReceiveReport) async {
        guard let program else { return }
        lines.makeRoom()
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
            lines.print(report.json(place(report)).text)
        } else if !report.result.isSuccess {
            lines.complain(report.line)
        } else if !output.isQuiet {
            lines.print(report.line)
        }
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
    /// Whether the delivery was stored for the first time. With `--keep`, the server also offers deliveries that were
    /// stored before.
    fileprivate var isNews: Bool {
        path != nil && result.isSuccess && (state == .delivered || result == .committed)
    }
}
