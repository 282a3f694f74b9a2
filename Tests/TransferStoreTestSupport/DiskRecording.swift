package import Glibc
import TransferTestSupport

/// The effects of a run on a directory, in order, with enough detail to work out what a power cut leaves of it.
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
        /// Removes bytes at the end, or adds zeros. A removal counts only when it is durable, because the file is not
        /// published before.
        case truncate(Object, size: Int)
        /// A new name, or a new object for an existing name.
        case name(Object, Entry)
        case remove(Entry)
        case sync(Object)
        case syncAll
        /// A failed sync of one object, or of everything if the object is nil.
        case failedSync(Object?)
        /// The store has acknowledged this content as durable.
        case acknowledge(path: String, content: [UInt8])
        /// The store has acknowledged that the path is durably removed.
        case acknowledgeRemoval(path: String)
        /// An event outside of the disk. Only the caller that has noted it knows what the number means.
        case note(Int)

        package var isFailedSync: Bool { if case .failedSync = self { true } else { false } }
    }

    package let root: Object
    /// The state before the run, all of which counts as durable.
    package var entries: [Entry: Object] = [:]
    package var contents: [Object: [UInt8]] = [:]
    package var directories: Set<Object>
    package var effects: [Effect] = []

    /// Makes a recording that begins with an empty directory.
    init(root: Object) {
        self.root = root
        directories = [root]
    }

    /// Makes a recording that begins with the content of `path`.
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

    /// The content of an object after all its writes and truncations.
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
    /// Writes as pwrite(2) does: a gap behind the previous end is filled with zeros.
    package mutating func put(_ bytes: [UInt8], at offset: Int) {
        let end = offset + bytes.count
        if count < end { self += [UInt8](repeating: 0, count: end - count) }
        withUnsafeMutableBytes { own in
            bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: own[offset..<end]).copyMemory(from: $0) }
        }
    }

    /// Changes the size as ftruncate(2) does.
    package mutating func resize(to size: Int) {
        if count > size { removeLast(count - size) } else { put([], at: size) }
    }

    /// Compares all bytes in one call. In a debug build, `==` of the standard library takes half a second for
    /// megabytes.
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
