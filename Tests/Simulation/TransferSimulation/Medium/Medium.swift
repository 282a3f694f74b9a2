internal import CLinux
import Glibc
import TransferSystem
import TransferTestSupport

/// What is on a disk: of every file and directory what is there for certain, and what was done since and may be there or not.
/// No more is promised than POSIX does:
///
/// - What a sync of a file covers, its bytes, and what a sync of a directory covers, its names, is there.
/// - Of anything else each page of content may be there or not, and each name is by itself what it was at the last sync of its
///   directory or anything that it became since. A name changes from one file to another in one step.
/// - What had a name that was synced, and got another one, is not gone: it has one of the two, or both. When the old name is gone
///   for certain, the new one is there for certain. So it is with a journal, and no program could move a folder without.
/// - What a failed sync was to cover is there or not, and no later sync makes it so. Names of directories that the present
///   server did not make are an exception, and both names of a rename: with those it counts on file systems that stop writing.
///
/// The calls take place in a directory of this machine, too. What they tell of a file, its number and its times, comes from
/// here, so that it is the same whenever a seed is played.
struct Medium {
    /// Files and directories are numbered as they come.
    typealias Object = Int

    enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(Int)

        /// The bytes that it changes.
        var range: Range<Int> {
            switch self {
            case .write(let offset, let bytes): offset..<offset + bytes.count
            case .truncate(let size): size..<Int.max
            }
        }
    }

    struct File {
        /// What every program sees.
        var seen: [UInt8] = []
        /// What is there for certain.
        var certain: [UInt8] = []
        var pending: [Change] = []
        /// The bytes that a sync has failed for: what is seen and what is there may differ until they are written again.
        var lost: [Range<Int>] = []
        var isLost: Bool { !lost.isEmpty }
        /// Whether others have made it, who need not sync it.
        var isForeign = false
        /// Whether the disk has lost what it had, whatever name it has or gets.
        var isRotten = false
        /// When its content was changed last, or what somebody has said of that; nanoseconds since 1970.
        var modified: Int64 = 0
        /// When anything of it was changed last.
        var changed: Int64 = 0

        /// These bytes are written anew. Those behind the end are there once the last one is.
        mutating func recover(_ range: Range<Int>) {
            let end = range.upperBound >= seen.count ? Int.max : range.upperBound
            lost = lost.flatMap { other in
                guard other.overlaps(range.lowerBound..<end) else { return [other] }
                let below = other.lowerBound..<max(other.lowerBound, range.lowerBound)
                let above = min(end, other.upperBound)..<other.upperBound
                return [below, above].filter { !$0.isEmpty }
            }
        }
    }

    struct Directory {
        /// Nothing in the server's own folder, but for the trash.
        var path: String?
        var seen: [String: Object] = [:]
        var certain: [String: Object] = [:]
        /// What names became since, in order.
        var pending: [(name: String, object: Object?)] = []
        /// When one of its names was changed last.
        var modified: Int64 = 0
    }

    /// Something that is to have one of two names.
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

    /// A descriptor, and how much was lost of its file that it needs not be told of.
    private struct Handle {
        let object: Object
        var told: Int
    }

    /// The kernel tells every descriptor once of what was lost while it was open, and a later one of what nobody was told of
    /// (errseq_t).
    struct Losses {
        var count = 0
        var isTold = true
    }

    /// The server's own folder, whose names nobody has to keep, but for the trash in it.
    static let own = ".transfer"
    static let trashName = "trash"
    static let trash = own + "/" + trashName

    let root: Object = 1
    var files: [Object: File] = [:]
    var directories: [Object: Directory] = [:]
    /// Grows with every change.
    var version = 0
    /// What symbolic links say.
    var links: [Object: [UInt8]] = [:]
    /// What is on the second disk; nothing where there is one disk only.
    var away: Set<Object> = []
    /// Directories that the present server has made.
    var made: Set<Object> = []
    /// Renames that a sync may not have covered, the oldest first.
    var renames: [Rename] = []
    /// What files are now that were something else before the last power cut.
    var origins: [Object: Object] = [:]
    /// Whether a sync has failed since the power was last cut.
    var hasFailedSync = false
    /// Names that a failed sync has lost, while the server has had no time to write down that it doubts them.
    private var undoubted: [(directory: Object, name: String, object: Object?)] = []
    private var last: Object = 1
    private let clock: VirtualClock
    /// By the numbers that this machine has given them.
    private var inodes: [ino_t: Object] = [:]
    /// What descriptors of the server stand for.
    private var opened: [Int32: Handle] = [:]
    /// What was lost of files and directories, as the kernel keeps account of it.
    private var losses: [Object: Losses] = [:]

    /// An empty directory, which is there for certain.
    init(root path: String, clock: VirtualClock) {
        self.clock = clock
        directories[root] = Directory(path: "")
        adopt(root, path)
    }

    /// What a power cut leaves of another one, in a new directory.
    init(root path: String, after old: Medium) {
        self.init(root: path, clock: old.clock)
        last = old.last
    }

    mutating func newObject() -> Object {
        last += 1
        return last
    }

    /// Learns what this machine calls a file or directory.
    mutating func adopt(_ object: Object, _ path: String) { adopt(object, path, in: AT_FDCWD) }

    mutating func adopt(_ object: Object, _ name: String, in directory: Int32) {
        var status = stat()
        if fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { inodes[status.st_ino] = object }
    }

    func stamp() -> Int64 { clock.stamp() }

    /// Something of a file has changed.
    ///
    /// - Parameter content: whether its bytes have.
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
        // Above the directory that this is about.
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
        // Of two names of one file rename(2) leaves both.
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

    /// What the server has made in its own folder gets a name, and what has it goes there, to be removed.
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

    /// Files in a directory, with their paths behind its own; a file itself.
    private func files(below object: Object, _ path: String) -> [(Object, String)] {
        guard let directory = directories[object] else { return [(object, path)] }
        return directory.seen.sorted { $0.key < $1.key }.flatMap { files(below: $0.value, path + "/" + $0.key) }
    }

    /// A directory has got another path, with those in it.
    private mutating func place(_ object: Object, _ path: String?) {
        guard let directory = directories[object] else { return }
        directories[object]?.path = path
        for (name, below) in directory.seen { place(below, path.map { $0 + "/" + name }) }
    }

    mutating func remove(_ directory: Int32, _ name: String) -> SimulatedDisk.Naming? {
        object(of: directory).flatMap { bind($0, name, nil) }
    }

    /// - Returns: nothing for a name in the server's own folder.
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

    /// - Returns: nothing below the server's own folder, but in the trash.
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

    /// As far as it lies in the file, which keeps its size.
    mutating func clear(_ number: Int32, _ range: Range<UInt64>) {
        guard let object = object(of: number), let size = files[object]?.seen.count else { return }
        let end = min(range.upperBound, UInt64(size))
        guard range.lowerBound < end else { return }
        [UInt8](repeating: 0, count: Int(end - range.lowerBound)).withUnsafeBytes { zeros in
            write(number, zeros, range.lowerBound)
        }
    }

    mutating func truncate(_ number: Int32, _ size: UInt64) {
        guard let object = object(of: number) else { return }
        files[object]?.seen.resize(to: Int(size))
        files[object]?.pending.append(.truncate(Int(size)))
        // Nothing is left that is taken for written and is not.
        files[object]?.recover(Int(size)..<Int.max)
        touch(object, content: true)
    }

    /// Its times were set, or its permissions.
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

    /// Lets a file or directory have its number and times here.
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

    /// - Parameter number: of something on the disk that is synced.
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

    /// What has lost its old name for certain has its new one.
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

    /// A sync of it has failed: each thing that it was to cover has reached the disk or never will.
    ///
    /// - Parameter names: whether names can be lost as well as bytes.
    mutating func loseUnsynced(of number: Int32, names: Bool, _ random: inout SplitMix64) {
        guard let object = object(of: number), names || files[object] != nil else { return }
        lose(object, &random)
        losses[object, default: Losses()].count += 1
        _ = takeLoss(of: number)
    }

    /// A sync of everything has failed, and nobody was told of which files.
    ///
    /// - Parameter number: of something on the disk that was to be synced.
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

    /// Whether something was lost that a descriptor was not told of. From now on it was.
    mutating func takeLoss(of number: Int32) -> Bool {
        guard let handle = opened[number], let known = losses[handle.object], handle.told != known.count else {
            return false
        }
        opened[number]?.told = known.count
        losses[handle.object]?.isTold = true
        return true
    }

    /// The process has died before it could write down what it doubts: then the file system has stopped writing at the failure,
    /// and what a later sync covers is there again (docs/design/store.md, When a sync fails). A name that was changed since is what it
    /// has become.
    mutating func stopAtFailure() {
        for lost in undoubted where directories[lost.directory]?.seen[lost.name] == lost.object {
            directories[lost.directory]?.pending.append((lost.name, lost.object))
        }
        undoubted = []
        version += 1
    }

    /// The server has had the time to write down which directories it doubts.
    mutating func keepLosses() { undoubted = [] }

    /// Whether nobody was told yet that a file has lost something.
    func hasUntoldLoss(_ object: Object) -> Bool { !(losses[object]?.isTold ?? true) }

    private mutating func lose(_ object: Object, _ random: inout SplitMix64) {
        version += 1
        if let file = files[object] {
            guard !file.pending.isEmpty else { return }
            files[object]?.certain = Self.content(of: file, &random)
            files[object]?.pending = []
            files[object]?.lost += file.pending.map(\.range).filter { !$0.isEmpty }
        } else if var directory = directories[object] {
            // What a later sync may still write (docs/design/store.md, When a sync fails).
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
