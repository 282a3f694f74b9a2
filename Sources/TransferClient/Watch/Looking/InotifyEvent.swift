import Glibc

/// An event of a watched directory (inotify(7)).
enum InotifyEvent: Equatable {
    enum Kind: Equatable {
        /// A process that could write has closed it, or it was moved here.
        case complete
        case created
        case movedAway
    }

    /// An event of an entry in the directory of a watch. Names may be any bytes.
    case entry(watch: Int32, Kind, isDirectory: Bool, name: [UInt8])

    /// The watched directory itself was removed, moved or unmounted.
    case directoryLost(watch: Int32)

    /// The kernel has removed the watch.
    case ended(watch: Int32)

    /// Events were lost because the queue was full.
    case overflow

    /// The events that a directory is watched for.
    static let mask =
        UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_CREATE)
        | UInt32(IN_DELETE_SELF)
        | UInt32(IN_MOVE_SELF) | UInt32(IN_ONLYDIR) | UInt32(IN_EXCL_UNLINK)

    /// Bytes in front of the name.
    private static let headSize = 16

    /// Parses the bytes of one read(2), up to the first invalid event.
    static func parse(_ bytes: UnsafeRawBufferPointer) -> [InotifyEvent] {
        var events: [InotifyEvent] = []
        var offset = 0
        while bytes.count - offset >= headSize {
            let watch = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
            let mask = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
            guard length <= bytes.count - offset - headSize else { break }
            let name = bytes[(offset + headSize)...].prefix(length).prefix { $0 != 0 }
            if let event = event(watch, mask, Array(name)) { events.append(event) }
            offset += headSize + length
        }
        return events
    }

    private static func event(_ watch: Int32, _ mask: UInt32, _ name: [UInt8]) -> InotifyEvent? {
        func has(_ bit: Int32) -> Bool { mask & UInt32(bitPattern: bit) != 0 }
        if has(Int32(IN_Q_OVERFLOW)) { return .overflow }
        if has(Int32(IN_IGNORED)) { return .ended(watch: watch) }
        if has(Int32(IN_UNMOUNT)) || has(Int32(IN_DELETE_SELF)) || has(Int32(IN_MOVE_SELF)) {
            return .directoryLost(watch: watch)
        }
        guard !name.isEmpty else { return nil }
        let kind: Kind
        if has(Int32(IN_CLOSE_WRITE)) || has(Int32(IN_MOVED_TO)) {
            kind = .complete
        } else if has(Int32(IN_MOVED_FROM)) {
            kind = .movedAway
        } else if has(Int32(IN_CREATE)) {
            kind = .created
        } else {
            return nil
        }
        return .entry(watch: watch, kind, isDirectory: has(Int32(IN_ISDIR)), name: name)
    }
}
