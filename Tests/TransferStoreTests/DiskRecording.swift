import Glibc
import TransferTestSupport

/// What a run did to a directory, in order, with enough meaning to work out what a power cut leaves of it.
struct DiskRecording: Sendable {
    /// A file or directory, by its inode.
    typealias Object = ino_t

    /// A name in a directory.
    struct Entry: Hashable, Comparable {
        let directory: Object
        let name: String

        static func < (a: Entry, b: Entry) -> Bool { (a.directory, a.name) < (b.directory, b.name) }
    }

    enum Effect: Equatable {
        case write(Object, offset: Int, bytes: [UInt8])
        /// Takes bytes away at the end. Only looked at once it is durable: nothing is published before.
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

        var isFailedSync: Bool { if case .failedSync = self { true } else { false } }
    }

    let root: Object
    /// What was there before and is taken to be durable.
    var entries: [Entry: Object] = [:]
    var contents: [Object: [UInt8]] = [:]
    var directories: Set<Object>
    var effects: [Effect] = []

    /// Takes what is below `path` for the beginning.
    init(of path: String) {
        root = Files.status(path)?.st_ino ?? 0
        directories = [root]
        add(path, root)
    }

    private mutating func add(_ path: String, _ directory: Object) {
        for name in Files.names(path) {
            guard let status = Files.status(path + "/" + name) else { continue }
            entries[Entry(directory: directory, name: name)] = status.st_ino
            if status.st_mode & S_IFMT == S_IFDIR {
                directories.insert(status.st_ino)
                add(path + "/" + name, status.st_ino)
            } else {
                contents[status.st_ino] = Files.read(path + "/" + name) ?? []
            }
        }
    }

    /// All bytes that an object ever got, in their places.
    func wholeContent(of object: Object) -> [UInt8] {
        var content = contents[object] ?? []
        for effect in effects {
            switch effect {
            case .write(object, let offset, let bytes): content.put(bytes, at: offset)
            case .truncate(object, let size): content = Array(content.prefix(size))
            default: break
            }
        }
        return content
    }
}

extension [UInt8] {
    /// Writes as pwrite(2) does: what is skipped is zero.
    mutating func put(_ bytes: some Collection<UInt8>, at offset: Int) {
        let end = offset + bytes.count
        if count < end { append(contentsOf: repeatElement(0, count: end - count)) }
        replaceSubrange(offset..<end, with: bytes)
    }
}
