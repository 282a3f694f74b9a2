package import Glibc
import TransferTestSupport

/// What a run did to a directory, in order, with enough meaning to work out what a power cut leaves of it.
package struct DiskRecording: Sendable {
    /// A file or directory, by its inode.
    package typealias Object = ino_t

    /// A name in a directory.
    package struct Entry: Hashable, Comparable {
        package let directory: Object
        package let name: String

        package init(directory: Object, name: String) {
            (self.directory, self.name) = (directory, name)
        }

        package static func < (a: Entry, b: Entry) -> Bool { (a.directory, a.name) < (b.directory, b.name) }
    }

    package enum Effect: Equatable, Sendable {
        case write(Object, offset: Int, bytes: [UInt8])
        /// Takes bytes away at the end, or adds zeros. Taking is only looked at once it is durable: nothing is published before.
        case truncate(Object, size: Int)
        /// A new name, or another meaning of one that was taken.
        case name(Object, Entry)
        case remove(Entry)
        case sync(Object)
        case syncAll
        /// A sync of one object, or of all, that failed.
        case failedSync(Object?)
        /// The store said that this is durable.
        case acknowledge(path: String, content: [UInt8])
        /// The store said that this is durably gone.
        case acknowledgeRemoval(path: String)
        /// Nothing of the disk: what that is, whoever noted it knows.
        case note(Int)

        package var isFailedSync: Bool { if case .failedSync = self { true } else { false } }
    }

    package let root: Object
    /// What was there before and is taken to be durable.
    package var entries: [Entry: Object] = [:]
    package var contents: [Object: [UInt8]] = [:]
    package var directories: Set<Object>
    package var effects: [Effect] = []

    /// Of an empty directory.
    init(root: Object) {
        self.root = root
        directories = [root]
    }

    /// Takes what is below `path` for the beginning.
    package init(of path: String) {
        root = Self.status(path)?.st_ino ?? 0
        directories = [root]
        add(path, root)
    }

    private mutating func add(_ path: String, _ directory: Object) {
        for name in names(in: path) {
            guard let status = Self.status(path + "/" + name) else { continue }
            entries[Entry(directory: directory, name: name)] = status.st_ino
            if status.st_mode & S_IFMT == S_IFDIR {
                directories.insert(status.st_ino)
                add(path + "/" + name, status.st_ino)
            } else {
                contents[status.st_ino] = Self.read(path + "/" + name, size: Int(status.st_size))
            }
        }
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    private static func read(_ path: String, size: Int) -> [UInt8] {
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard number >= 0 else { return [] }
        defer { close(number) }
        var content = [UInt8](repeating: 0, count: size)
        let count = content.withUnsafeMutableBytes { pread(number, $0.baseAddress, size, 0) }
        return Array(content.prefix(max(0, count)))
    }

    /// All bytes that an object ever got, in their places.
    package func wholeContent(of object: Object) -> [UInt8] {
        var content = contents[object] ?? []
        for effect in effects {
            switch effect {
            case .write(object, let offset, let bytes): content.put(bytes, at: offset)
            case .truncate(object, let size): content.resize(to: size)
            default: break
            }
        }
        return content
    }
}

extension [UInt8] {
    /// Writes as pwrite(2) does: what is skipped is zero.
    package mutating func put(_ bytes: [UInt8], at offset: Int) {
        let end = offset + bytes.count
        if count < end { self += [UInt8](repeating: 0, count: end - count) }
        withUnsafeMutableBytes { own in
            bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: own[offset..<end]).copyMemory(from: $0) }
        }
    }

    /// As ftruncate(2) does.
    package mutating func resize(to size: Int) {
        if count > size { removeLast(count - size) } else { put([], at: size) }
    }

    /// Equality, byte by byte in one call: a debug build takes half a second for megabytes otherwise.
    package func isSame(as other: [UInt8]) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBytes { own in
            other.withUnsafeBytes { other in
                guard let own = own.baseAddress, let other = other.baseAddress else { return true }
                return memcmp(own, other, count) == 0
            }
        }
    }
}
