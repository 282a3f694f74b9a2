internal import CLinux
import Glibc
import TransferCodec
import TransferKeys
import TransferModel
import TransferSystem

/// A folder of this user's own with the state that later runs need to resume: small files that only this user can read,
/// each named after its subject.
struct StateFolder: Sendable {
    let path: String

    /// Seconds that a file is kept. A server remembers what it has delivered for twice its `--expire-undelivered`;
    /// state is useful no longer than that.
    private static let age: Int64 = 30 * 86_400

    /// Seconds that a temporary file is kept. It exists for a moment only, so the process that wrote an older one was
    /// killed.
    private static let draftAge: Int64 = 3600

    /// The path of the file for a subject.
    ///
    /// - Parameters:
    ///   - kind: a line that distinguishes the uses of such files.
    ///   - words: distinguish the subjects of one use.
    func file(_ kind: String, _ words: [String]) -> String {
        var key: [UInt8] = Array("\(kind)\n".utf8)
        for word in words {
            key.append(bigEndian: UInt64(word.utf8.count))
            key += Array(word.utf8)
        }
        return "\(path)/\(String(hexadecimal: KeyFingerprint(of: key).digest.bytes))"
    }

    /// Writes a file, and makes the folder if it is missing. Nothing is durable when this returns.
    ///
    /// - Parameter file: a path from `file`.
    /// - Returns: whether the file was written; always true if it replaces.
    static func write(_ content: [UInt8], to file: String, replaces: Bool) throws(SystemError) -> Bool {
        do throws(SystemError) {
            return try OwnFile.writeUnsynced(content, to: file, replaces: replaces)
        } catch {
            guard error.errno == ENOENT else { throw error }
            try OwnFile.makeFolder(OwnFile.folder(of: file))
            return try OwnFile.writeUnsynced(content, to: file, replaces: replaces)
        }
    }

    /// Removes files that were not used for a long time.
    ///
    /// - Parameter age: seconds since a file was last written.
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
