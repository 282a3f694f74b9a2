internal import CLinux
import Glibc
import TransferCodec
import TransferModel

/// Derives the IDs of uploads: the same unchanged file of this user on this machine, sent to the same destination, has
/// the same ID in every push. So the server recognises a repeated upload, and how much of it has arrived.
struct SourceID: Sendable {
    private let common: [UInt8]

    /// The version of the derivation; another version gives other IDs.
    private static let version = "transfer upload 1"

    /// - Parameter configuration: its digest function, conflict policy and recipients become part of the ID.
    init(_ configuration: ClientConfiguration) {
        var key = Key(Self.version)
        key.append(Self.machine)
        key.append(UInt64(getuid()))
        key.append(UInt64(configuration.digestFunction.rawValue))
        key.append(UInt64(configuration.conflict.rawValue))
        // An upload of the same file for other recipients is a separate upload; the order of the recipients does not
        // matter.
        let names = Set(configuration.recipients.map { PathKey($0) }).sorted()
        if !names.isEmpty { key.append(UInt64(names.count)) }
        for name in names { key.append(name.string) }
        common = key.bytes
    }

    /// - Parameters:
    ///   - path: the file's path on this machine.
    ///   - destination: the path on the server.
    func id(path: String, destination: String, file: SourceFile.Identity) -> UploadID {
        var key = Key(common)
        key.append(path)
        key.append(destination)
        return key.id(of: file)
    }

    /// Prepares IDs for many files of one directory.
    ///
    /// - Parameters:
    ///   - path: the directory's absolute path without a slash at its end.
    ///   - destination: the folder on the server.
    func folder(path: String, destination: String) -> Folder {
        Folder(common: common, path: path, destination: destination)
    }

    /// Derives the IDs of the files in one directory, the same as `id` does.
    struct Folder {
        private var key: Key
        private let common: Int
        private let path: [UInt8]
        private let destination: [UInt8]

        fileprivate init(common: [UInt8], path: String, destination: String) {
            (key, self.common) = (Key(common), common.count)
            (self.path, self.destination) = (Array(path.utf8), Array(destination.utf8))
        }

        /// - Parameter name: the file's name in the directory.
        mutating func id(of name: String, _ file: SourceFile.Identity) -> UploadID {
            key.shorten(to: common)
            key.append(path, name)
            key.append(destination, name)
            return key.id(of: file)
        }
    }

    /// The machine's ID (machine-id(5)), or its host name if it has no ID.
    private static let machine: String = {
        let descriptor = clinux_openat(AT_FDCWD, "/etc/machine-id", O_RDONLY | O_CLOEXEC, 0)
        if descriptor >= 0 {
            defer { close(descriptor) }
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(descriptor, &bytes, bytes.count)
            if count >= 32 { return String(decoding: bytes[..<32], as: UTF8.self) }
        }
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }()

    /// The fields of an ID one after the other, each with its length, so that different fields never give the same
    /// bytes.
    private struct Key {
        private(set) var bytes: [UInt8]

        init(_ text: String) {
            bytes = Array(text.utf8)
        }

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        mutating func append(_ text: String) {
            append(UInt64(text.utf8.count))
            bytes.append(contentsOf: text.utf8)
        }

        /// Appends a path that consists of a folder and a name.
        mutating func append(_ folder: [UInt8], _ name: String) {
            append(UInt64(folder.count + 1 + name.utf8.count))
            bytes.append(contentsOf: folder)
            bytes.append(UInt8(ascii: "/"))
            bytes.append(contentsOf: name.utf8)
        }

        mutating func shorten(to count: Int) {
            bytes.removeLast(bytes.count - count)
        }

        /// The ID from the fields so far and from the size and time of a file.
        mutating func id(of file: SourceFile.Identity) -> UploadID {
            append(file.size)
            append(UInt64(bitPattern: file.modified.seconds))
            append(UInt64(file.modified.nanoseconds))
            return UploadID(derivedFrom: bytes.withUnsafeBytes { BlockHasher.digest(.xxh128, $0) })
        }

        mutating func append(_ number: UInt64) {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
    }
}
