internal import TransferAccess
internal import TransferModel

/// How the commands about access print and end.
enum AccessOutput {
    /// Runs the body of a command, and prints the message of a fault.
    static func run(_ body: () throws(AccessFault) -> ExitCode) -> ExitCode {
        do throws(AccessFault) {
            return try body()
        } catch {
            return fail(error.message)
        }
    }

    /// - Parameter sentence: a whole sentence, with its full stop.
    static func fail(_ sentence: String) -> ExitCode {
        StandardStream.error.write("transfer: \(sentence)\n")
        return .uploadsFailed
    }

    /// Prints rows in aligned columns; the last column is not padded.
    static func table(_ rows: [[String]]) {
        StandardStream.output.write(TextTable.lines(rows))
    }

    /// A client's rights and limits, in short words for a table.
    static func bounds(_ options: AccessOptions, at now: UTCTime) -> String {
        let text = options.description.escapedForDisplay
        return (text.isEmpty ? "everything" : text) + (options.hasExpired(at: now) ? " (expired)" : "")
    }

    /// A client's rights and limits, as a part of a sentence.
    static func sentence(_ options: AccessOptions) -> String {
        let verbs =
            switch options.rights {
            case .readWrite: "push, list, fetch and remove"
            case .noRemove: "push, list and fetch, but not remove or replace what others have stored"
            case .readOnly: "list and fetch, but not push or remove anything"
            case .writeOnly: "push, but not see, fetch or remove anything"
            }
        return verbs + (options.folder.map { ", below the folder '\($0.string.escapedForDisplay)'" } ?? "")
    }

    /// Prints the lines of a list that are invalid.
    static func report<Entry>(_ list: CurrentList<Entry>) -> ExitCode {
        for fault in list.list.faults {
            StandardStream.error.write(
                "transfer: line \(fault.line) of \(list.name) admits no client: \(fault.message).\n")
        }
        return list.isComplete ? .success : .uploadsFailed
    }
}
