import Glibc
import TransferModel
import TransferSystem

/// The folder with a server's records: the catalog and the ledger of mailboxes. By default it is the server's own folder in the
/// directory. The operator names another one if the directory is on a file system that cannot hold a database with a write-ahead log. Both
/// folders then contain the same token, so that a server refuses the records of another directory, and refuses to start when the folder is
/// not named.
package struct StateFolder: Sendable {
    package let path: String

    /// Whether the folder has no records yet, although the directory had records in another folder.
    package let hasLostRecords: Bool

    /// Name of the token's file in the server's own folder; it exists if the records are elsewhere.
    private static let ownToken = "state"

    /// Name of the token's file in the folder with the records.
    private static let token = "directory"

    /// - Parameters:
    ///   - path: the folder on this machine; nil for the server's own folder.
    ///   - directory: the server's directory.
    ///   - makes: whether the folder and the token are made if they are missing; otherwise they must exist.
    /// - Throws: `ServerError`, with a sentence that says what to do.
    package init(_ path: String?, of directory: String, makes: Bool) throws(ServerError) {
        let own = "\(directory)/\(RelativePath.reservedName)"
        let shown = directory.escapedForDisplay
        let expected = try Self.read("\(own)/\(Self.ownToken)")
        guard let path else {
            guard expected == nil else {
                throw ServerError(
                    "The catalog and the mailboxes of '\(shown)' are in another folder: name it with --state-dir. To have them in "
                        + "\(RelativePath.reservedName) again, move \(Self.moved) there and remove \(RelativePath.reservedName)/\(Self.ownToken)."
                )
            }
            (self.path, hasLostRecords) = (own, false)
            return
        }
        try Self.check(path, of: directory, makes: makes)
        let present = try Self.read("\(path)/\(Self.token)")
        guard present == nil || present == expected else {
            throw ServerError(
                "'\(path.escapedForDisplay)' has the catalog of another directory than '\(shown)'. Name another folder."
            )
        }
        if let left = Self.records.first(where: { access("\(own)/\($0)", F_OK) == 0 }) {
            throw ServerError(
                "'\(shown)' still contains \(RelativePath.reservedName)/\(left). Stop every server of "
                    + "this directory, and move \(Self.moved) from \(RelativePath.reservedName) to "
                    + "'\(path.escapedForDisplay)'.")
        }
        hasLostRecords = expected != nil && present == nil
        self.path = path
        if present == nil { try Self.mark(path, own, expected, makes) }
    }

    private static var moved: String { records.map { "\($0)*" }.joined(separator: " and ") }

    /// Writes the token into both folders: first into the server's own, so that a server that is killed in between can continue here.
    private static func mark(_ path: String, _ own: String, _ expected: String?, _ makes: Bool) throws(ServerError) {
        guard makes else { throw ServerError("'\(path.escapedForDisplay)' has no catalog of the directory.") }
        let token = expected ?? String(UInt64.random(in: .min ... .max), radix: 16)
        do throws(SystemError) {
            if expected == nil { _ = try OwnFile.write(Array(token.utf8), to: "\(own)/\(ownToken)", replaces: true) }
            _ = try OwnFile.write(Array(token.utf8), to: "\(path)/\(Self.token)", replaces: true)
        } catch {
            throw ServerError(
                "Cannot write in '\(path.escapedForDisplay)' or in '\(own.escapedForDisplay)': \(error.reason).")
        }
    }

    /// Checks that other users cannot write in the folder, and that no path of a client leads into it.
    private static func check(_ path: String, of directory: String, makes: Bool) throws(ServerError) {
        let shown = path.escapedForDisplay
        if CanonicalPath(path).isWithin(CanonicalPath(directory)) {
            throw ServerError("'\(shown)' is in the directory that clients write to. Name a folder elsewhere.")
        }
        if access("\(path)/incoming", F_OK) == 0 {
            throw ServerError("'\(shown)' is a server's own folder. Name another folder for the catalog.")
        }
        do throws(SystemError) {
            if makes { try OwnFile.makeFolder(path) }
            var status = stat()
            try system("stat") { stat(path, &status) }
            guard status.st_mode & S_IFMT == S_IFDIR else { throw SystemError(errno: ENOTDIR, call: "stat") }
            guard status.st_uid == geteuid() || status.st_uid == 0, status.st_mode & 0o022 == 0 else {
                throw SystemError(errno: EACCES, call: "stat")
            }
        } catch {
            let advice =
                error.errno == EACCES
                ? ". It must belong to the server's user, and no other user may have write permission" : ""
            throw ServerError("Cannot keep the catalog in '\(shown)': \(error.reason)\(advice).")
        }
    }

    /// - Returns: nil if the file does not exist.
    private static func read(_ path: String) throws(ServerError) -> String? {
        do throws(SystemError) {
            guard let file = try OwnFile(reading: path, atMost: 64) else { return nil }
            guard let token = String(validating: file.content, as: UTF8.self), UInt64(token, radix: 16) != nil else {
                throw SystemError(errno: EBADMSG, call: "read")
            }
            return token
        } catch {
            throw ServerError("Cannot read '\(path.escapedForDisplay)': \(error.reason).")
        }
    }
}
