internal import CLinux
import Glibc
import TransferSystem
import TransferTestSupport

/// Content of a disk: for every file and directory, the durable state and the later changes, each of which may be on
/// disk or not. The medium promises no more than POSIX does:
///
/// - A sync makes durable what it covers: the bytes of a file, or the names in a directory.
/// - Each page of content that is not synced may be on disk or not. Each name, whatever the state of other names, means
///   what it meant when its directory was last synced, or anything that it has meant since. A name changes from one
///   file to another in one step.
/// - A file or directory with a synced name stays when it is renamed: it has one of the two names, or both. If the old
///   name is certainly gone, the new name certainly exists. Journals of file systems ensure this; otherwise no program
///   could move a folder.
/// - Changes that a failed sync was to cover are on disk or not, and no later sync writes them. Names of directories
///   that the present server did not make are an exception, and so are both names of a rename: for these names the
///   server relies on the file system to stop writing after the failure.
///
/// The calls also take place in a directory of this machine. The numbers and times of files come from here instead, so
/// that they are the same whenever a seed is played.
struct Medium {
    /// Number of a file or directory, in the order of creation.
    typealias Object = Int

    enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(Int)

        /// Bytes that the change affects.
        var range: Range<Int> {
            switch self {
            case .write(let offset, let bytes): offset..<offset + bytes.count
            case .truncate(let size): size..<Int.max
            }
        }
    }

    struct File {
        /// Content that every program sees.
        var seen: [UInt8] = []
        /// Content that a power cut leaves for certain.
        var certain: [UInt8] = []
        var pending: [Change] = []
        /// Ranges for which a sync has failed: the content that programs see and the content on disk may differ there
        /// until the bytes are written again.
        var lost: [Range<Int>] = []
        var isLost: Bool { !lost.isEmpty }
        /// Whether another program, which need not sync the file, wrote it.
        var isForeign = false
        /// Whether the disk has lost the content, under every present and later name of the file.
        var isRotten = false
        /// Time of the last change of the content, or the time that a program has set instead; nanoseconds since 1970.
        var modified: Int64 = 0
        /// Time of the last change of content, names or attributes.
        var changed: Int64 = 0

        /// Marks a range that is written again as not lost. A range up to the end of the file includes all bytes behind
        /// the end.
        mutating func recover(_ range: Range<Int>) {
            let end = range.upperBound >= seen.count ? Int.max : range.upperBound
            lost = lost.flatMap { other in
                guard other.overlaps(range.lowerBound..<end) else { return [other] }
                let below = other.lowerBound..<max(other.lowerBound, range.lowerBound)
                return [below, min(end, other.upperBound)..<other.upperBound].filter { !$0.isEmpty }
            }
        }
    }

    struct Directory {
        /// Path of the directory; nil in the server's own folder, except for the trash.
        var path: String?
        var seen: [String: Object] = [:]
        var certain: [String: Object] = [:]
        /// Changes of names since the last sync, in order.
        var pending: [(name: String, object: Object?)] = []
        /// Time of the last change of a name in the directory.
        var modified: Int64 = 0
    }

    /// A rename of a file or directory, which must keep one of the two names.
    struct Rename {
        let object: Object
        let source: Object
        let name: String
        let target: Object
        let newName: String

        func hasName(_ name: String, in directory: Object) -> Bool {
            source == directory && self.name == name || target == directory && newName == name
        }
    }

    /// An open descriptor, and how many losses of the file the kernel need not report to it.
    private struct Handle {
        let object: Object
        var told: Int
    }

    /// The kernel reports a loss once to each descriptor that was open at the time. It reports a loss that no
    /// descriptor received to one that is opened later (errseq_t).
    struct Losses {
        var count = 0
        var isTold = true
    }

    /// The server's own folder. The names in it need not survive, except for those in the trash.
    static let own = ".transfer"
    static let trashName = "trash"
    static let trash = own + "/" + trashName

    let root: Object = 1
    var files: [Object: File] = [:]
    var directories: [Object: Directory] = [:]
    /// Number that grows with every change.
    var version = 0
    /// Paths that symbolic links contain, as bytes.
    var links: [Object: [UInt8]] = [:]
    /// Files and directories on the second disk; empty if there is only one disk.
    var away: Set<Object> = []
    /// Directories that the present server has made.
    var made: Set<Object> = []
    /// Renames that a sync may not have covered, the oldest first.
    var renames: [Rename] = []
    /// Numbers of files after the last power cut, by the numbers that they had before it.
    var origins: [Object: Object] = [:]
    /// Whether a sync has failed since the power was last cut.
    var hasFailedSync = false
    /// Names that a failed sync has lost, while the server has had no time to record that it doubts them.
    private var undoubted: [(directory: Object, name: String, object: Object?)] = []
    private var last: Object = 1
    private let clock: VirtualClock
    /// Objects by the inode numbers that this machine has given them.
    private var inodes: [ino_t: Object] = [:]
    /// Objects that the descriptors of the server refer to.
    private var opened: [Int32: Handle] = [:]
    /// Losses of files and directories, as the kernel counts them.
    private var losses: [Object: Losses] = [:]

    /// Creates a medium with an empty directory that is durable.
    init(root path: String, clock: VirtualClock) {
        self.clock = clock
        directories[root] = Directory(path: "")
        adopt(root, path)
    }

    /// Creates an empty medium for the state after a power cut, with the clock and the numbering of the earlier medium.
    init(root path: String, after old: Medium) {
        self.init(root: path, clock: old.clock)
        last = old.last
    }

    mutating func newObject() -> Object {
        last += 1
        return last
    }

    /// Notes the inode number of a file or directory on this machine.
    mutating func adopt(_ object: Object, _ path: String) { adopt(object, path, in: AT_FDCWD) }

    mutating func adopt(_ object: Object, _ name: String, in directory: Int32) {
        var status = stat()
        if fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { inodes[status.st_ino] = object }
    }

    func stamp() -> Int64 { clock.stamp() }

    /// Records a change of a file or directory.
    ///
    /// - Parameter content: whether the bytes of the file or the names of the directory have changed.
    mutating func touch(_ object: Object, content: Bool) {
        version += 1
        guard files[object] != nil || directories[object] != nil else { return }
        let now = clock.stamp()
        if content { directories[object]?.modified = now }
        files[object]?.changed = now
        if content { files[object]?.modified = now }
    }
}

// MARK: What a process does

extension Medium {
    /// - Parameter number: the new descriptor.
    mutating func open(_ number: Int32, _ directory: Int32, _ name: String, flags: Int32) -> SimulatedDisk.Naming? {
        guard flags & clinux_o_tmpfile != clinux_o_tmpfile else {
            opened[number] = handle(addFile(number))
            return nil
        }
        if let found = object(of: directory).flatMap({ object(at: name, from: $0) }) ?? self.inode(of: number) {
            opened[number] = handle(found)
            if flags & O_TRUNC != 0 { truncate(number, 0) }
            return nil
        }
        // The path is above the simulated directory, so the medium does not follow it.
        guard flags & O_CREAT != 0, let parent = object(of: directory) else {
            opened[number] = nil
            return nil
        }
        let file = addFile(number)
        opened[number] = handle(file)
        return bind(parent, name, file)
    }

    private func handle(_ object: Object) -> Handle {
        let losses = losses[object] ?? Losses()
        return Handle(object: object, told: losses.isTold ? losses.count : losses.count - 1)
    }

    func object(of number: Int32) -> Object? { opened[number]?.object }

    private func inode(of number: Int32) -> Object? {
        var status = stat()
        return fstat(number, &status) == 0 ? inodes[status.st_ino] : nil
    }

    private mutating func addFile(_ number: Int32) -> Object {
        let object = newObject()
        files[object] = File()
        touch(object, content: true)
        var status = stat()
        if fstat(number, &status) == 0 { inodes[status.st_ino] = object }
        return object
    }

    func isDirectory(_ number: Int32) -> Bool { object(of: number).map { directories[$0] != nil } ?? false }

    mutating func link(_ file: Int32, _ directory: Int32, _ name: String) -> SimulatedDisk.Naming? {
        guard let parent = object(of: directory), let object = object(of: file) else { return nil }
        return bind(parent, name, object)
    }

    mutating func link(
        _ name: String, in source: Int32, _ directory: Int32, _ newName: String
    ) -> SimulatedDisk.Naming? {
        guard let parent = object(of: directory),
            let object = object(of: source).flatMap({ object(at: name, from: $0) })
        else { return nil }
        return bind(parent, newName, object)
    }

    mutating func makeDirectory(_ directory: Int32, _ name: String) -> SimulatedDisk.Naming? {
        guard let parent = object(of: directory) else { return nil }
        let made = newObject()
        self.made.insert(made)
        directories[made] = Directory(path: path(parent, name), modified: stamp())
        adopt(made, name, in: directory)
        return bind(parent, name, made)
    }

    mutating func rename(_ from: Int32, _ name: String, _ to: Int32, _ newName: String) -> [SimulatedDisk.Naming] {
        guard let source = object(of: from), let target = object(of: to), let object = directories[source]?.seen[name]
        else {
            return []
        }
        // If both names belong to one file, rename(2) leaves both.
        guard directories[target]?.seen[newName] != object else { return [] }
        let old = path(source, name)
        if old != nil {
            renames.append(Rename(object: object, source: source, name: name, target: target, newName: newName))
        }
        var named = bind(target, newName, object)
        var gone = bind(source, name, nil)
        gone?.isRenamed = true
        if let old, let new = path(target, newName) {
            named?.moves = files(below: object, "").map { below, path in
                SimulatedDisk.Move(object: below, path: old + path, target: new + path)
            }
        }
        if old != nil { place(object, path(target, newName)) }
        return [named, gone].compactMap(\.self)
    }

    /// A file or folder in the server's own folder takes a name, and the object that had the name goes to the own
    /// folder, to be removed.
    mutating func exchange(
        _ own: Int32, _ name: String, _ directory: Int32, _ newName: String
    ) -> [SimulatedDisk.Naming] {
        guard let source = object(of: own), let target = object(of: directory),
            let object = directories[source]?.seen[name], let old = directories[target]?.seen[newName]
        else { return [] }
        let namings = [bind(target, newName, object), bind(source, name, old)]
        place(object, path(target, newName))
        place(old, path(source, name))
        return namings.compactMap(\.self)
    }

    /// Files in a directory, with their paths below it; for a file, the file itself with an empty path.
    private func files(below object: Object, _ path: String) -> [(Object, String)] {
        guard let directory = directories[object] else { return [(object, path)] }
        return directory.seen.sorted { $0.key < $1.key }.flatMap { files(below: $0.value, path + "/" + $0.key) }
    }

    /// Sets the path of a directory and of all directories in it.
    private mutating func place(_ object: Object, _ path: String?) {
        guard let directory = directories[object] else { return }
        directories[object]?.path = path
        for (name, below) in directory.seen { place(below, path.map { $0 + "/" + name }) }
    }

    mutating func remove(_ directory: Int32, _ name: String) -> SimulatedDisk.Naming? {
        object(of: directory).flatMap { bind($0, name, nil) }
    }

    /// - Returns: nil for a name in the server's own folder, except in the trash.
    mutating func bind(_ directory: Object, _ name: String, _ object: Object?) -> SimulatedDisk.Naming? {
        let old = directories[directory]?.seen[name]
        directories[directory]?.seen[name] = object
        directories[directory]?.pending.append((name, object))
        settle(object, onDiskOf: directory)
        for changed in [old, object].compactMap(\.self) { touch(changed, content: false) }
        touch(directory, content: true)
        return path(directory, name).map { path in
            let replaced = object == nil ? nil : old.flatMap { files[$0]?.seen }
            return SimulatedDisk.Naming(path: path, object: object, replacedObject: old, replaced: replaced)
        }
    }

    /// - Returns: nil below the server's own folder, except in the trash.
    func path(_ directory: Object, _ name: String) -> String? {
        if name == Self.trashName, directory == object(at: Self.own) { return Self.trash }
        guard let parent = directories[directory]?.path, !(parent.isEmpty && name == Self.own) else { return nil }
        return parent.isEmpty ? name : parent + "/" + name
    }

    mutating func write(_ number: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: UInt64) {
        guard let object = object(of: number) else { return }
        let bytes = Array(bytes)
        files[object]?.seen.put(bytes, at: Int(offset))
        files[object]?.pending.append(.write(offset: Int(offset), bytes: bytes))
        files[object]?.recover(Int(offset)..<Int(offset) + bytes.count)
        touch(object, content: true)
    }

    /// Clears the part of a range that lies in the file. The file keeps its size.
    mutating func clear(_ number: Int32, _ range: Range<UInt64>) {
        guard let object = object(of: number), let size = files[object]?.seen.count else { return }
        let end = min(range.upperBound, UInt64(size))
        if range.lowerBound >= end { return }
        [UInt8](repeating: 0, count: Int(end - range.lowerBound)).withUnsafeBytes { zeros in
            write(number, zeros, range.lowerBound)
        }
    }

    mutating func truncate(_ number: Int32, _ size: UInt64) {
        guard let object = object(of: number) else { return }
        files[object]?.seen.resize(to: Int(size))
        files[object]?.pending.append(.truncate(Int(size)))
        // The bytes behind the new end are gone, so that none of them counts as lost.
        files[object]?.recover(Int(size)..<Int.max)
        touch(object, content: true)
    }

    /// Records that the times or the permissions of a file were set.
    mutating func setAttributes(_ number: Int32, times: Bool) {
        guard let object = object(of: number) else { return }
        touch(object, content: false)
        guard times else { return }
        var status = stat()
        guard fstat(number, &status) == 0 else { return }
        let modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        files[object]?.modified = modified
        directories[object]?.modified = modified
    }

    /// Replaces the number and the times in a status by those of the simulation.
    func amend(_ status: inout stat) {
        guard let object = inodes[status.st_ino] else { return }
        amend(&status, of: object)
        status.st_ino = ino_t(object)
        if let directory = directories[object] { status.st_mtim = Self.time(directory.modified) }
        guard let file = files[object] else { return }
        status.st_mtim = Self.time(file.modified)
        status.st_ctim = Self.time(file.changed)
    }

    private static func time(_ nanoseconds: Int64) -> timespec {
        timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}

// MARK: Syncs

extension Medium {
    mutating func sync(_ number: Int32) {
        if let object = object(of: number) { sync(object: object) }
    }

    /// - Parameter number: descriptor of an object on the disk that is synced.
    mutating func syncAll(_ number: Int32) {
        let place = object(of: number) ?? root
        for object in Array(files.keys) where isOnSameDisk(object, as: place) { sync(object: object) }
        for object in Array(directories.keys) where isOnSameDisk(object, as: place) { sync(object: object) }
    }

    mutating func sync(object: Object) {
        if let pending = files[object]?.pending {
            guard !pending.isEmpty else { return }
            for change in pending { files[object]?.certain.apply(change) }
            files[object]?.pending = []
        } else if let pending = directories[object]?.pending {
            guard !pending.isEmpty else { return }
            for (name, meaning) in pending { directories[object]?.certain[name] = meaning }
            directories[object]?.pending = []
            syncNewNames(of: object)
        }
        version += 1
    }

    /// Makes the new names of objects durable if their old names in a directory are gone for certain.
    private mutating func syncNewNames(of directory: Object) {
        let settled = renames.filter { $0.source == directory }
        renames.removeAll { $0.source == directory }
        for rename in settled {
            sync(object: rename.target)
            var next = directories[rename.target]?.path
            while let path = next, let above = object(at: Self.parent(path)) {
                sync(object: above)
                next = path.isEmpty ? nil : Self.parent(path)
            }
        }
    }

    static func parent(_ path: String) -> String {
        path.split(separator: "/").dropLast().joined(separator: "/")
    }

    /// A sync of a descriptor has failed: each change that it was to cover has reached the disk or never will.
    ///
    /// - Parameter names: whether names can be lost as well as bytes.
    mutating func loseUnsynced(of number: Int32, names: Bool, _ random: inout SplitMix64) {
        guard let object = object(of: number), names || files[object] != nil else { return }
        lose(object, &random)
        losses[object, default: Losses()].count += 1
        _ = takeLoss(of: number)
    }

    /// A sync of a whole disk has failed, and the kernel has not reported which files that concerns.
    ///
    /// - Parameter number: descriptor of an object on the disk that was to be synced.
    mutating func loseUnsynced(onDiskOf number: Int32, names: Bool, _ random: inout SplitMix64) {
        let place = object(of: number) ?? root
        for object in files.keys.sorted() where isOnSameDisk(object, as: place) {
            guard !(files[object]?.pending.isEmpty ?? true) else { continue }
            lose(object, &random)
            losses[object, default: Losses()].count += 1
            losses[object]?.isTold = false
        }
        guard names else { return }
        for object in directories.keys.sorted() where isOnSameDisk(object, as: place) { lose(object, &random) }
    }

    /// Whether the kernel has a loss to report to a descriptor. The call counts as the report.
    mutating func takeLoss(of number: Int32) -> Bool {
        guard let handle = opened[number], let known = losses[handle.object], handle.told != known.count else {
            return false
        }
        opened[number]?.told = known.count
        losses[handle.object]?.isTold = true
        return true
    }

    /// The process has died before it could record which names it doubts. The file system has then stopped writing at
    /// the failure, and a later sync covers the lost names again (docs/design/store.md, When a sync fails). A name that
    /// was changed since keeps its new meaning.
    mutating func stopAtFailure() {
        for lost in undoubted where directories[lost.directory]?.seen[lost.name] == lost.object {
            directories[lost.directory]?.pending.append((lost.name, lost.object))
        }
        undoubted = []
        version += 1
    }

    /// The server has had the time to record which directories it doubts.
    mutating func keepLosses() { undoubted = [] }

    /// Whether a file has a loss that the kernel has reported to no descriptor.
    func hasUntoldLoss(_ object: Object) -> Bool { !(losses[object]?.isTold ?? true) }

    private mutating func lose(_ object: Object, _ random: inout SplitMix64) {
        version += 1
        if let file = files[object] {
            guard !file.pending.isEmpty else { return }
            files[object]?.certain = Self.content(of: file, &random)
            files[object]?.pending = []
            files[object]?.lost += file.pending.map(\.range).filter { !$0.isEmpty }
        } else if var directory = directories[object] {
            // Names that a later sync may still write (docs/design/store.md, When a sync fails).
            let renamed = renames.filter { $0.source == object || $0.target == object }
            let kept = directory.pending.filter { name, entry in
                let isOlder = entry.map { directories[$0] != nil && !made.contains($0) } ?? false
                return isOlder || renamed.contains { $0.hasName(name, in: object) }
            }
            directory.pending.removeAll { change in kept.contains { $0.name == change.name } }
            undoubted += directory.pending.map { (object, $0.name, $0.object) }
            directories[object]?.certain = Self.names(of: directory, &random)
            directories[object]?.pending = kept
        }
    }
}
