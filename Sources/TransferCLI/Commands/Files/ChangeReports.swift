internal import TransferClient
private import TransferModel

/// Prints the results of changes on the server.
struct ChangeReports {
    /// The verb that is printed before a path: `moved`.
    let verb: String

    /// The new path of each report, in order; empty if paths are not printed.
    var targets: [String] = []

    let isJSON: Bool
    let isQuiet: Bool

    /// A sentence of advice that is printed if a path is a folder and the command accepts only files.
    var folderAdvice: String?

    /// Whether a summary follows the results.
    var isSummed = false

    /// The server's name in commands, for the hint that says how to restore replaced files; nil to print no hint.
    var server: String?

    /// - Throws: `TransferFailure` if some changes have no answer. After an interruption, its message says how many
    ///   changes have one.
    func show(_ changes: @autoclosure () -> RequestEvents<ChangeReport>) async throws(TransferFailure) -> ExitCode {
        let reports = Interruption.begin(changes) { $0.cancel() }
        var tally = ResultTally()
        var counts = (files: 0, others: EntryCounts())
        var trash: [TrashedBatch: Int] = [:]
        var printer = LinePrinter()
        var index = 0
        do throws(TransferFailure) {
            for try await report in reports {
                tally.add(report.result)
                if let batch = report.trash { trash[batch, default: 0] += 1 }
                if report.result.isSuccess {
                    if let form = report.form, form != .file { counts.others.add(form) } else { counts.files += 1 }
                }
                show(report, targets.indices.contains(index) ? targets[index] : nil, &printer)
                index += 1
                if !reports.areWaiting { printer.flush() }
            }
        } catch {
            printer.flush()
            guard error.reason == .cancelled else { throw error }
            let done = tally.done == 0 ? "Nothing is" : tally.done == 1 ? "1 is" : "\(tally.done) are"
            let word = verb.prefix { $0 != " " }
            throw TransferFailure(reason: .cancelled, message: "It was stopped. \(done) acknowledged as \(word).")
        }
        tally.isOutputLost = printer.finish() != .success
        if isSummed, !isQuiet { StandardStream.error.write(summary(counts, tally) + "\n") }
        let undo = server.flatMap { TrashUndo(trash, server: $0)?.line }
        if let undo, !isQuiet { StandardStream.error.write(undo + "\n") }
        return tally.exitCode
    }

    /// Prints a result that did not come from the server.
    func show(_ report: ChangeReport) -> ExitCode {
        var tally = ResultTally()
        var printer = LinePrinter()
        tally.add(report.result)
        show(report, nil, &printer)
        tally.isOutputLost = printer.finish() != .success
        return tally.exitCode
    }

    private func show(_ report: ChangeReport, _ target: String?, _ printer: inout LinePrinter) {
        let path = report.path.escapedForDisplay
        if isJSON {
            printer.print(json(report, target).text)
        } else if !report.result.isSuccess {
            // Lines that are already in the buffer must appear before the message.
            printer.flush()
            let advice = report.result == .wrongForm ? folderAdvice.map { " \($0)" } ?? "" : ""
            StandardStream.error.write("\(report.result)  \(path): \(report.message.escapedForDisplay)\(advice)\n")
        } else if !isQuiet {
            let verb = report.form ?? .file == .file ? verb : "made"
            printer.print("\(verb)  \(path)" + (target.map { " -> \($0.escapedForDisplay)" } ?? ""))
        }
    }

    /// The summary, in one line.
    private func summary(_ counts: (files: Int, others: EntryCounts), _ tally: ResultTally) -> String {
        (["\(counts.files) copied"] + counts.others.words + [tally.failures].compactMap(\.self)).joined(separator: ", ")
    }

    private func json(_ report: ChangeReport, _ target: String?) -> JSONLine {
        ChangeDocument(
            path: report.path, result: report.result, target: target, isDurable: report.isDurable,
            message: report.message, form: report.form?.rawValue, trash: report.trash?.batch
        ).json
    }
}
