import Glibc
import TransferModel
import TransferSystem

/// Why a source could not be sent: its result code and a sentence.
struct LocalFailure: Error, Equatable {
    let code: ResultCode
    let message: String

    static func unreadable(_ error: SystemError) -> LocalFailure {
        let advice =
            switch error.errno {
            case ENOENT: "There is no such file or directory."
            case EACCES, EPERM: "Permission denied: this user may not read it."
            case EISDIR: "It is a directory."
            case ELOOP: "It is a symbolic link."
            default: "It could not be read: \(error)."
            }
        return LocalFailure(code: .sourceUnreadable, message: advice)
    }

    static let connectionLost = LocalFailure(
        code: .connectionLost, message: "Not acknowledged: the connection was lost.")

    /// - Parameter code: what the server said of the whole connection.
    static func refused(_ code: ResultCode) -> LocalFailure {
        LocalFailure(code: code, message: "Not acknowledged: the server refused.")
    }

    static let changed = LocalFailure(
        code: .sourceChanged, message: "The file changed while it was read; push it again when it is at rest.")

    /// The same, for an upload that can be gone on with.
    ///
    /// - Parameter seconds: for which the server keeps what has arrived.
    func keeping(seconds: UInt32) -> LocalFailure {
        let kept = DurationFormat.words(seconds)
        let advice = "What has arrived is kept for \(kept); the same command goes on from there."
        return LocalFailure(code: code, message: "\(message) \(advice)")
    }

    static let reserved = LocalFailure(
        code: .sourceSkipped, message: "Skipped: the name is one of Transfer's own, and what has it is never sent.")

    /// For what has the name of a witness and no other one.
    static let leftByRemoval = LocalFailure(
        code: .sourceSkipped,
        message:
            "It has a name that removals give for a moment. Rename it; if a removal of yours was killed, a push or "
            + "watch with --delete-source gives it its name back when it is a minute old.")

    /// - Parameter what: a device, a FIFO and so on.
    static func special(_ what: String) -> LocalFailure {
        LocalFailure(code: .sourceSkipped, message: "Skipped: it is \(what), not a file or a directory.")
    }
}
