import Glibc
import TransferCodec
import TransferProtocol
import TransferTestSupport

@testable import TransferStore

/// A store in a directory that goes when the test is over, and short words for what tests do with it.
struct StoreBox {
    let directory: TemporaryDirectory
    let store: FileStore

    init(usesOpenat2: Bool = true) throws {
        directory = try TemporaryDirectory()
        store = try FileStore(path: directory.path("store"), usesOpenat2: usesOpenat2)
    }

    func path(_ name: String) -> String { directory.path("store/" + name) }

    /// A verified upload of `content` that waits to be published.
    func ready(
        _ name: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth, isLong: Bool = false,
        modified: Begin.Timestamp? = nil, permissions: UInt16? = nil
    ) throws -> Publication {
        let id = UploadID.random()
        let size = UInt64(content.count)
        let staged = try store.stage(id: id, size: isLong ? nil : size, permissions: permissions)
        try content.withUnsafeBytes { bytes in
            Result { () throws(StoreError) in try staged.write(bytes, at: 0) }
        }.get()
        return Publication(
            staged: staged, id: id, path: try RelativePath(name), size: size, digest: Self.digest(content),
            conflict: conflict, modified: modified, permissions: permissions)
    }

    @discardableResult
    func publish(
        _ name: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth, isLong: Bool = false
    ) throws -> Published {
        try store.publish([try ready(name, content, conflict, isLong: isLong)])[0].get()
    }

    /// The code with which publishing fails.
    func refusal(_ name: String, _ content: [UInt8], _ conflict: ConflictPolicy = .keepBoth) throws -> ResultCode? {
        guard case .failure(let error) = store.publish([try ready(name, content, conflict)])[0] else { return nil }
        return error.code
    }

    func content(_ name: String) -> [UInt8]? {
        let number = open(path(name), O_RDONLY)
        guard number >= 0 else { return nil }
        defer { close(number) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        let count = read(number, &buffer, buffer.count)
        return count < 0 ? nil : Array(buffer[..<count])
    }

    func status(_ name: String) -> stat {
        var status = stat()
        lstat(path(name), &status)
        return status
    }

    /// Names at the top but the server's own.
    var names: [String] { Self.names(in: path("")).filter { $0 != ".transfer" } }
    var parts: [String] { Self.names(in: path(".transfer/incoming")) }

    /// Descriptors of this process that lead into the directory; other tests have their own.
    var openDescriptors: Int {
        Self.names(in: "/proc/self/fd").count { name in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("/proc/self/fd/\(name)", &target, target.count)
            let bytes = target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
            return String(decoding: bytes, as: UTF8.self).hasPrefix(directory.path)
        }
    }

    static func names(in path: String) -> [String] {
        ((try? DirectoryHandle(path: path).names()) ?? []).sorted()
    }

    static func digest(_ content: [UInt8]) -> Digest { content.withUnsafeBytes { ContentDigester.digest(.xxh128, $0) } }
}
