import Glibc
import TransferModel
import TransferSystem

/// The names and contents of a disk at one moment, by the inodes of a recording.
package struct DiskState {
    package typealias Object = DiskRecording.Object
    package typealias Entry = DiskRecording.Entry

    package var names: [Entry: Object] = [:]
    package var contents: [Object: [UInt8]] = [:]

    package init() {}

    /// The content of a file; empty if no bytes were written to it.
    package func content(of file: Object) -> [UInt8] { contents[file] ?? [] }

    /// The object at a path; nil if it does not exist.
    package func object(_ path: String, below root: Object) -> Object? {
        path.split(separator: "/").reduce(root) { directory, name in
            directory.flatMap { names[Entry(directory: $0, name: String(name))] }
        }
    }

    /// Creates this state in an empty directory, as far as it can be reached from the top. The content of the server's
    /// own folder can only be read by its user.
    ///
    /// - Parameters:
    ///   - rename: maps each name to the one that is created.
    /// - Returns: the new inode of each object.
    package func write(
        _ recording: DiskRecording, to path: String, rename: (String) -> String = { $0 }
    ) throws -> [Object: Object] {
        let children = Dictionary(grouping: names) { $0.key.directory }
        var made: [Object: (path: String, inode: Object)] = [recording.root: (path, try Self.inode(path))]
        var waiting = [(recording.root, path, false)]
        while let (directory, path, isOwn) = waiting.popLast() {
            for (entry, object) in children[directory] ?? [] {
                let isOwn = isOwn || directory == recording.root && entry.name == RelativePath.reservedName
                let below = path + "/" + rename(entry.name)
                if let other = made[object]?.path {
                    // A directory has one name at a time, so an object with several names is a file.
                    try system("link") { link(other, below) }
                    continue
                }
                if recording.directories.contains(object) {
                    try system("mkdir") { mkdir(below, isOwn ? 0o700 : 0o755) }
                    waiting.append((object, below, isOwn))
                } else {
                    try Self.write(content(of: object), to: below, mode: isOwn ? 0o600 : 0o644)
                }
                made[object] = (below, try Self.inode(below))
            }
        }
        return made.mapValues(\.inode)
    }

    private static func inode(_ path: String) throws -> Object {
        var status = stat()
        try system("stat") { stat(path, &status) }
        return status.st_ino
    }

    private static func write(_ content: [UInt8], to path: String, mode: mode_t) throws {
        let file = Descriptor(try system("open") { open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode) })
        let number = file.number
        var rest = content[...]
        while !rest.isEmpty {
            let count = try rest.withUnsafeBytes { bytes in
                try system("write") { Glibc.write(number, bytes.baseAddress, bytes.count) }
            }
            rest = rest.dropFirst(count)
        }
    }
}
