import Glibc
import TransferModel
import TransferSystem

/// The failures of uploads, and their messages.
extension Failure {
    static func unreadable(_ error: SystemError) -> Failure {
        let advice =
            switch error.errno {
            case ENOENT: "There is no such file or directory."
            case EACCES, EPERM: "Permission denied: this user may not read it."
            case EISDIR: "It is a directory."
            case ELOOP: "It is a symbolic link."
            default: "It could not be read: \(error)."
            }
        return Failure(.sourceUnreadable, advice)
    }

    static let connectionLost = Failure(
        .connectionLost, "Not acknowledged: the connection was lost.")

    /// - Parameter code: the server's code for the whole connection.
    static func refused(_ code: ResultCode) -> Failure {
        Failure(code, "Not acknowledged: the server refused.")
    }

    static let changed = Failure(
        .sourceChanged, "The file changed while it was read; push it again when no program writes to it.")

    /// The same failure for an upload that can be resumed.
    ///
    /// - Parameter seconds: how long the server keeps the part that has arrived.
    func keeping(seconds: UInt32) -> Failure {
        let kept = DurationFormat.words(seconds)
        let advice =
            "The server keeps the part that has arrived for \(kept); run the same command again to continue from there."
        return Failure(code, "\(message) \(advice)")
    }

    static let reserved = Failure(
        .sourceSkipped, "Skipped: the name is reserved for Transfer, and entries with it are never sent.")

    /// The failure for an entry that has a temporary name from a removal and did not get its own name back.
    static let leftByRemoval = Failure(
        .sourceSkipped,
        "It has a temporary name that 'transfer' gives to files while it removes them. Rename it; if a "
            + "removal was killed, a push or watch with --delete-source restores its name after a minute.")

    /// - Parameter what: the type of file, such as a device or a FIFO.
    static func special(_ what: String) -> Failure {
        Failure(.sourceSkipped, "Skipped: it is \(what), not a file or a directory.")
    }
}

extension Failure {
    /// - Parameter message: the reason why the framing cannot carry the upload.
    static func unsuitable(_ message: String) -> Failure { Failure(.unsuitable, message) }

    /// The failure of an upload that was sent in a framing without acknowledgements.
    ///
    /// - Parameter remark: the server's words, if it sent some.
    static func unanswered(_ remark: String?) -> Failure {
        let said = remark.map { " The server says: \($0)" } ?? ""
        return Failure(
            .unacknowledged,
            "Sent, not acknowledged: this framing has no acknowledgement (verified: no).\(said)")
    }

    /// The failure of an upload that was sent completely and got no answer.
    ///
    /// - Parameter reason: what happened instead of an answer: a sentence, whose period may be missing.
    static func doubtful(_ reason: String) -> Failure {
        let end = reason.utf8.last == UInt8(ascii: ".") ? "" : "."
        return Failure(
            .unacknowledged,
            "All of it was sent, and no answer came: \(reason)\(end) Whether it is stored is not "
                + "known. It is not sent again automatically, because that could store it twice.")
    }

    static let stopped = Failure(.cancelled, "It was stopped.")

    static let notSent = Failure(.cancelled, "Not sent.")
}
