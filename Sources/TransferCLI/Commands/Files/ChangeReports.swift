internal import TransferClient
private import TransferModel

/// Shows what became of changes on the server.
struct ChangeReports {
    /// What was done, as it stands in front of a path: `moved`.
    let verb: String

    /// What each path has become, in the order of the reports; nothing where there is no more to say.
    var targets: [String] = []

    let isJSON: Bool
    let isQuiet: Bool

    /// - Throws: when not all have an answer; of what was stopped it says how many do.
    func show(_ reports: RequestEvents<ChangeReport>) async throws(PushFailure) -> ExitCode {
        Interruption.watch { reports.cancel() }
        var tally = ResultTally()
        var printer = LinePrinter()
        var index = 0
        do throws(PushFailure) {
            for try await report in reports {
                tally.add(report.result)
                show(report, targets.indices.contains(index) ? targets[index] : nil, &printer)
                index += 1
                if !reports.areWaiting { printer.flush() }
            }
        } catch {
            printer.flush()
            guard error.reason == .cancelled else { throw error }
            let done = tally.done == 0 ? "Nothing is" : tally.done == 1 ? "1 is" : "\(tally.done) are"
            let word = verb.prefix { $0 != " " }
            throw PushFailure(reason: .cancelled, message: "It was stopped. \(done) acknowledged as \(word).")
        }
        tally.isOutputLost = printer.finish() != .success
        return tally.exitCode
    }

    private func show(_ report: ChangeReport, _ target: String?, _ printer: inout LinePrinter) {
        let path = report.path.escapedForDisplay
        if isJSON {
            printer.print(json(report, target).text)
        } else if !report.result.isSuccess {
            // What came before is read before.
            printer.flush()
            StandardStream.error.write("\(report.result)  \(path): \(report.message.escapedForDisplay)\n")
        } else if !isQuiet {
            printer.print("\(verb)  \(path)" + (target.map { " -> \($0.escapedForDisplay)" } ?? ""))
        }
    }

    /// The object of `--json`; every key is always there.
    private func json(_ report: ChangeReport, _ target: String?) -> JSONLine {
        [
            "schema": .string(JSONSchema.change), "path": .string(report.path), "result": .string(report.result.name),
            "target": target.map { .string($0) } ?? .null, "durable": .bool(report.isDurable),
            "message": .string(report.message),
        ]
    }
}
