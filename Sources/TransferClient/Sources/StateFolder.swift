internal import CLinux
import Glibc
import TransferCodec
import TransferKeys
import TransferModel
import TransferSystem

/// A folder of this user's own for what a later run needs to go on where an earlier one was cut off: small files that nobody else
/// can read, each named for what it is about.
struct StateFolder: Sendable {
    let path: String

    /// Seconds for which anything is kept: as long as a server remembers what it has delivered, which is twice its
    /// `--expire-undelivered`, it needs no reminder longer than that.
    private static let age: Int64 = 30 * 86_400

    /// The same of a draft, which is there for a moment: whoever wrote one that is older was killed.
    private static let draftAge: Int64 = 3600

    /// The path of the file that is about something.
    ///
    /// - Parameters:
    ///   - kind: a line that tells one use from another.
    ///   - words: what tells one from another.
    func file(_ kind: String, _ words: [String]) -> String {
        var key: [UInt8] = Array("\(kind)\n".utf8)
        for word in words {
            key.append(bigEndian: UInt64(word.utf8.count))
            key += Array(word.utf8)
        }
        return "\(path)/\(String(hexadecimal: KeyFingerprint(of: key).digest.bytes))"
    }

    /// Writes one, and the folder where it is missing. Nothing is durable when this returns.
    ///
    /// - Parameter file: as `file` gives it.
    /// - Returns: whether it was written; never false when it replaces.
    static func write(_ content: [UInt8], to file: String, replaces: Bool) throws(SystemError) -> Bool {
        do throws(SystemError) {
            return try OwnFile.writeUnsynced(content, to: file, replaces: replaces)
        } catch {
            guard error.errno == ENOENT else { throw error }
            try OwnFile.makeFolder(OwnFile.folder(of: file))
            return try OwnFile.writeUnsynced(content, to: file, replaces: replaces)
        }
    }

    /// Removes what nobody has come back for.
    ///
    /// - Parameter age: seconds.
    func sweep(keeping age: Int64 = Self.age) {
        guard let directory = opendir(path) else { return }
        defer { closedir(directory) }
        let now = Timestamp.now.seconds
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            guard let name = String(validating: name, as: UTF8.self), name.utf8.first != UInt8(ascii: ".") else {
                continue
            }
            var status = stat()
            let file = "\(path)/\(name)"
            let limit = name.utf8.contains(UInt8(ascii: ".")) ? Self.draftAge : age
            guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                now.subtractingReportingOverflow(Int64(status.st_mtim.tv_sec)).partialValue > limit
            else { continue }
            unlink(file)
        }
    }
}
