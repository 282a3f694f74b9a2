import TransferCodec
import TransferModel
import TransferSystem

/// Authenticates the temporary names that removals of this user give to files.
///
/// A removal renames a file before it removes it. If its process is killed in between, the next removal renames the file back. Other users
/// who can write to the directory, and servers whose files are pulled into it, can choose names of the same form. Therefore each name
/// has a tag (a message authentication code) that only a holder of the key can compute, and that is valid in one directory.
final class WitnessKey: Sendable {
    private static let size = 32
    private static let fileName = "removals.key"

    /// Nil until it is first needed; then it is read from the folder, or made.
    private let secret = Locked<[UInt8]?>(nil)
    private let folder: String?

    /// - Parameter folder: this user's folder that keeps the key; nil for a key that only this process has.
    init(in folder: String?) {
        self.folder = folder
    }

    /// Makes a number for a name: 8 random bytes, and 8 bytes of tag.
    func makeNumber(in directory: SourceDirectory) throws(SystemError) -> UploadID {
        var random = SecureRandom()
        let number = random.next()
        return UploadID(high: number, low: tag(number, try directory.identity))
    }

    /// Whether a number was made with this key, for this directory.
    func hasMade(_ number: UploadID, in directory: SourceDirectory) -> Bool {
        guard let identity = try? directory.identity else { return false }
        return tag(number.high, identity) == number.low
    }

    /// The first 64 bits of SHA-256 over the key, which has a fixed length, and the message. The device number is left
    /// out: many file systems get another one with each mount.
    private func tag(_ number: UInt64, _ directory: SourceRoot.Identity) -> UInt64 {
        var message = secretBytes
        message.append(bigEndian: number)
        message.append(bigEndian: directory.inode)
        let digest = message.withUnsafeBytes { ContentDigester.digest(.sha256, $0) }
        return digest.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private var secretBytes: [UInt8] {
        secret.withLock { secret in
            if let secret { return secret }
            let new = Self.kept(in: folder) ?? Self.random()
            secret = new
            return new
        }
    }

    /// - Returns: nil if no key can be kept, or if another user may have written the file.
    private static func kept(in folder: String?) -> [UInt8]? {
        guard let folder else { return nil }
        let path = "\(folder)/\(fileName)"
        do throws(SystemError) {
            if try OwnFile(reading: path, atMost: size) == nil {
                _ = try StateFolder.write(random(), to: path, replaces: false)
            }
            // Another process may have written the file first.
            guard let file = try OwnFile(reading: path, atMost: size), file.isPrivate, file.isGuarded,
                file.content.count == size
            else { return nil }
            return file.content
        } catch {
            return nil
        }
    }

    private static func random() -> [UInt8] {
        var random = SecureRandom()
        var bytes: [UInt8] = []
        while bytes.count < size { bytes.append(bigEndian: random.next()) }
        return bytes
    }
}
