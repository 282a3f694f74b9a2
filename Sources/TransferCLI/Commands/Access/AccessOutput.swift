internal import TransferAccess
internal import TransferModel

/// How the commands about access print and end.
enum AccessOutput {
    /// Runs what may fail with a sentence.
    static func run(_ body: () throws(AccessFault) -> ExitCode) -> ExitCode {
        do throws(AccessFault) {
            return try body()
        } catch {
            return fail(error.message)
        }
    }

    /// - Parameter sentence: with a full stop.
    static func fail(_ sentence: String) -> ExitCode {
        StandardStream.error.write("transfer: \(sentence)\n")
        return .uploadsFailed
    }

    /// Prints rows under one another, the last column as long as it is.
    static func table(_ rows: [[String]]) {
        StandardStream.output.write(TextTable.lines(rows))
    }

    /// What a client may do, for a table.
    static func bounds(_ options: AccessOptions, at now: UTCTime) -> String {
        let text = options.description.escapedForDisplay
        return (text.isEmpty ? "everything" : text) + (options.hasExpired(at: now) ? " (expired)" : "")
    }

    /// What a client may do, in words for a sentence.
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

    /// Prints the lines of a list that let nobody in.
    static func report<Entry>(_ list: CurrentList<Entry>) -> ExitCode {
        for fault in list.list.faults {
            StandardStream.error.write(
                "transfer: line \(fault.line) of \(list.name) admits no client: \(fault.message).\n")
        }
        return list.isComplete ? .success : .uploadsFailed
    }
}
