import Glibc
import TransferTestSupport

/// What is on a disk: of every file and directory what is there for certain, and what was done since and may be there or not.
/// No more is promised than POSIX does:
///
/// - What a sync of a file covers, its bytes, and what a sync of a directory covers, its names, is there.
/// - Of anything else each page of content may be there or not, and each name is by itself what it was at the last sync of its
///   directory or anything that it became since. A name changes from one file to another in one step.
/// - What a failed sync was to cover is there or not, and no later sync makes it so.
struct Medium {
    typealias Object = ino_t

    fileprivate enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(Int)
    }

    private struct File {
        /// What every program sees.
        var seen: [UInt8] = []
        /// What is there for certain.
        var certain: [UInt8] = []
        var pending: [Change] = []
        /// Whether a sync of it has failed, so that what is seen and what is there may differ for ever.
        var isLost = false
        /// Whether a sync of everything has failed, and nobody was told yet that this file has lost something.
        var hasUntoldLoss = false
        /// Whether others have made it, who need not sync it.
        var isForeign = false
    }

    private struct Directory {
        var path: String?
        var seen: [String: Object] = [:]
        var certain: [String: Object] = [:]
        /// What names became since, in order.
        var pending: [(name: String, object: Object?)] = []
    }

    /// The server's own folder, whose names nobody has to keep.
    private static let own = ".transfer"

    let root: Object
    private var files: [Object: File] = [:]
    private var directories: [Object: Directory] = [:]
    /// Where a power cut has put each file first.
    private var firstPath: [Object: String] = [:]

    /// An empty directory, which is there for certain.
    init(root path: String) {
        root = Self.object(path)
        directories[root] = Directory(path: "")
    }

    private static func object(_ path: String) -> Object {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_ino : 0
    }

    private static func object(_ number: Int32) -> Object {
        var status = stat()
        return fstat(number, &status) == 0 ? status.st_ino : 0
    }
}

// MARK: What a process does

extension Medium {
    mutating func add(file number: Int32) {
        let object = Self.object(number)
        if files[object] == nil { files[object] = File() }
    }

    func isDirectory(_ number: Int32) -> Bool { directories[Self.object(number)] != nil }

    mutating func name(_ file: Int32, _ directory: Int32, _ name: String) -> SimulatedDisk.Naming? {
        bind(Self.object(directory), name, Self.object(file))
    }

    mutating func makeDirectory(_ directory: Int32, _ name: String) -> SimulatedDisk.Naming? {
        var status = stat()
        guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        let parent = Self.object(directory)
        directories[status.st_ino] = Directory(path: path(parent, name))
        return bind(parent, name, status.st_ino)
    }

    mutating func rename(_ from: Int32, _ name: String, _ to: Int32, _ newName: String) -> [SimulatedDisk.Naming] {
        let (source, target) = (Self.object(from), Self.object(to))
        guard let object = directories[source]?.seen[name] else { return [] }
        return [bind(target, newName, object), bind(source, name, nil)].compactMap(\.self)
    }

    mutating func remove(_ directory: Int32, _ name: String) -> SimulatedDisk.Naming? {
        bind(Self.object(directory), name, nil)
    }

    /// - Returns: nothing for a name in the server's own folder.
    private mutating func bind(_ directory: Object, _ name: String, _ object: Object?) -> SimulatedDisk.Naming? {
        let old = directories[directory]?.seen[name]
        directories[directory]?.seen[name] = object
        directories[directory]?.pending.append((name, object))
        return path(directory, name).map { path in
            let replaced = object == nil ? nil : old.flatMap { files[$0]?.seen }
            return SimulatedDisk.Naming(path: path, object: object, replaced: replaced)
        }
    }

    /// - Returns: nothing below the server's own folder.
    private func path(_ directory: Object, _ name: String) -> String? {
        guard let parent = directories[directory]?.path, !(parent.isEmpty && name == Self.own) else { return nil }
        return parent.isEmpty ? name : parent + "/" + name
    }

    mutating func write(_ number: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: UInt64) {
        let object = Self.object(number)
        let bytes = Array(bytes)
        files[object]?.seen.put(bytes, at: Int(offset))
        files[object]?.pending.append(.write(offset: Int(offset), bytes: bytes))
    }

    mutating func truncate(_ number: Int32, _ size: UInt64) {
        let object = Self.object(number)
        files[object]?.seen.resize(to: Int(size))
        files[object]?.pending.append(.truncate(Int(size)))
    }

    mutating func sync(_ number: Int32) { sync(Self.object(number)) }

    mutating func syncAll() {
        for object in Array(files.keys) { sync(object) }
        for object in Array(directories.keys) { sync(object) }
    }

    private mutating func sync(_ object: Object) {
        if files[object] != nil {
            for change in files[object]?.pending ?? [] { files[object]?.certain.apply(change) }
            files[object]?.pending = []
        } else {
            for (name, meaning) in directories[object]?.pending ?? [] { directories[object]?.certain[name] = meaning }
            directories[object]?.pending = []
        }
    }

    /// A sync of it has failed: each thing that it was to cover has reached the disk or never will.
    ///
    /// - Parameter names: whether names can be lost as well as bytes.
    mutating func loseUnsynced(of number: Int32, names: Bool, _ random: inout SplitMix64) {
        let object = Self.object(number)
        if names || files[object] != nil { lose(object, &random) }
    }

    mutating func loseUnsynced(names: Bool, _ random: inout SplitMix64) {
        for object in files.keys.sorted() {
            guard !(files[object]?.pending.isEmpty ?? true) else { continue }
            lose(object, &random)
            files[object]?.hasUntoldLoss = true
        }
        guard names else { return }
        for object in directories.keys.sorted() { lose(object, &random) }
    }

    /// Whether a file has lost something that nobody was told of. Whoever asks is told, and nobody after him.
    mutating func takeUntoldLoss(of number: Int32) -> Bool {
        let object = Self.object(number)
        defer { files[object]?.hasUntoldLoss = false }
        return files[object]?.hasUntoldLoss ?? false
    }

    private mutating func lose(_ object: Object, _ random: inout SplitMix64) {
        if let file = files[object] {
            guard !file.pending.isEmpty else { return }
            files[object]?.certain = Self.content(of: file, &random)
            files[object]?.pending = []
            files[object]?.isLost = true
        } else if let directory = directories[object] {
            directories[object]?.certain = Self.names(of: directory, &random)
            directories[object]?.pending = []
        }
    }
}

// MARK: What others do

extension Medium {
    /// Somebody has written a file, and synced it or not.
    mutating func replace(_ path: String, in directory: String, by content: [UInt8], synced: Bool = true) {
        let object = Self.object(directory + "/" + path)
        files[object] = File(seen: content, isForeign: true)
        files[object]?.pending = [.write(offset: 0, bytes: content)]
        if synced {
            sync(object)
            settle(path, object)
        } else if let (directory, name) = place(path) {
            _ = bind(directory, name, object)
        }
    }

    /// Somebody has removed a file or a directory, and synced that.
    mutating func forget(_ path: String) { settle(path, nil) }

    /// Somebody has made a directory, and not synced that.
    mutating func makeDirectory(_ path: String, in root: String) {
        guard let (parent, name) = place(path) else { return }
        let object = Self.object(root + "/" + path)
        directories[object] = Directory(path: path)
        _ = bind(parent, name, object)
    }

    /// The disk has lost what a file had, and nobody has changed it.
    ///
    /// - Parameter content: of the same size.
    mutating func rot(_ path: String, to content: [UInt8]) {
        guard let object = object(at: path) else { return }
        files[object]?.seen = content
        files[object]?.certain = content
        files[object]?.isForeign = true
    }

    private func place(_ path: String) -> (directory: Object, name: String)? {
        let parts = path.split(separator: "/")
        guard let name = parts.last.map(String.init),
            let directory = object(at: parts.dropLast().joined(separator: "/")), directories[directory] != nil
        else { return nil }
        return (directory, name)
    }

    /// Every directory that every program sees, outside the server's own folder and without the one at the top.
    var seenDirectories: [String] {
        directories.compactMap { object, directory in
            directory.path.flatMap { !$0.isEmpty && self.object(at: $0) == object ? $0 : nil }
        }.sorted()
    }

    private mutating func settle(_ path: String, _ object: Object?) {
        guard let (directory, name) = place(path) else { return }
        sync(directory)
        directories[directory]?.seen[name] = object
        directories[directory]?.certain[name] = object
    }
}

// MARK: What a power cut leaves

extension Medium {
    private static let pageSize = 4096

    /// One of the contents that may be found.
    private static func content(of file: File, _ random: inout SplitMix64) -> [UInt8] {
        var content = file.certain
        for change in file.pending {
            switch change {
            case .truncate(let size): if Bool.random(using: &random) { content.resize(to: size) }
            case .write(let offset, let bytes):
                // The size may have grown without the content.
                if Bool.random(using: &random) { content.resize(to: max(content.count, offset + bytes.count)) }
                for start in stride(from: 0, to: bytes.count, by: pageSize) where Bool.random(using: &random) {
                    content.put(Array(bytes[start..<min(start + pageSize, bytes.count)]), at: offset + start)
                }
            }
        }
        return content
    }

    /// One of the sets of names that may be found.
    private static func names(of directory: Directory, _ random: inout SplitMix64) -> [String: Object] {
        var names = directory.certain
        var meanings: [String: [Object?]] = [:]
        for (name, object) in directory.pending { meanings[name, default: []].append(object) }
        for (name, objects) in meanings.sorted(by: { $0.key < $1.key }) where Bool.random(using: &random) {
            names[name] = objects.randomElement(using: &random) ?? nil
        }
        return names
    }

    /// What may be at a path after a power cut now: contents, and nothing for no file.
    func possibilities(at path: String) -> [Possibility] {
        var places: [Object?] = [root]
        for component in path.split(separator: "/") {
            places = places.flatMap { place -> [Object?] in
                guard let place, let directory = directories[place] else { return [nil] }
                let later = directory.pending.filter { $0.name == component }.map(\.object)
                return [directory.certain[String(component)]] + later
            }
        }
        return places.map { object in
            guard let object, let file = files[object] else { return .nothing }
            return file.pending.isEmpty ? .content(file.certain) : .uncertain
        }
    }

    enum Possibility: Equatable {
        case nothing
        case content([UInt8])
        /// A file of which not all is synced.
        case uncertain
    }

    /// A path that a power cut now may leave to a file which is not all there; nothing where there is none. What others
    /// have written is theirs.
    var halfWritten: String? {
        for (object, directory) in directories {
            guard let parent = directory.path, self.object(at: parent) == object else { continue }
            let later = directory.pending.lazy.compactMap { change in change.object.map { (change.name, $0) } }
            for (name, object) in Array(directory.certain.lazy.map { ($0.key, $0.value) }) + later {
                guard let file = files[object], !file.isForeign else { continue }
                if !file.pending.isEmpty || file.isLost { return parent.isEmpty ? name : parent + "/" + name }
            }
        }
        return nil
    }

    /// Whether somebody else has made what is at a path.
    func isForeign(_ path: String) -> Bool { object(at: path).flatMap { files[$0]?.isForeign } ?? false }

    /// Bytes of all files that every program sees.
    var seenBytes: Int { seenPaths.values.reduce(0) { $0 + (files[$1]?.seen.count ?? 0) } }

    /// What every program sees at a path; nothing for no file.
    func seen(at path: String) -> [UInt8]? { object(at: path).flatMap { files[$0]?.seen } }

    func seen(of object: Object) -> [UInt8]? { files[object]?.seen }

    func object(at path: String) -> Object? {
        var place = root
        for component in path.split(separator: "/") {
            guard let next = directories[place]?.seen[String(component)] else { return nil }
            place = next
        }
        return place
    }

    /// Whether everything of a file is there for certain that every program sees of it.
    func isCertain(_ object: Object) -> Bool { files[object].map { $0.pending.isEmpty && !$0.isLost } ?? false }

    /// Every path of a file that every program sees, outside the server's own folder.
    var seenPaths: [String: Object] {
        var paths: [String: Object] = [:]
        for (object, directory) in directories {
            guard let parent = directory.path, self.object(at: parent) == object else { continue }
            for (name, object) in directory.seen where files[object] != nil {
                paths[parent.isEmpty ? name : parent + "/" + name] = object
            }
        }
        return paths
    }

    /// Makes what a power cut leaves, in a new directory.
    ///
    /// - Returns: it, and for every file the object that it is now.
    func cut(to path: String, _ random: inout SplitMix64) -> (medium: Medium, moved: [Object: Object]) {
        var cut = Medium(root: path)
        var moved: [Object: Object] = [:]
        copy(root, to: path, cut.root, into: &cut, &moved, &random)
        return (cut, moved)
    }

    private func copy(
        _ directory: Object, to path: String, _ made: Object, into cut: inout Medium, _ moved: inout [Object: Object],
        _ random: inout SplitMix64
    ) {
        guard let known = directories[directory] else { return }
        for (name, object) in Self.names(of: known, &random).sorted(by: { $0.key < $1.key }) {
            let name = Self.inNextBoot(name, below: known.path == nil)
            let target = path + "/" + name
            if let file = files[object] {
                if let there = moved[object] {
                    // Another name of the same file.
                    if let first = cut.firstPath[there] { link(first, target) }
                    cut.directories[made]?.certain[name] = there
                    cut.directories[made]?.seen[name] = there
                    continue
                }
                let content = Self.content(of: file, &random)
                Self.make(target, content)
                let new = Self.object(target)
                cut.files[new] = File(seen: content, certain: content, isForeign: file.isForeign)
                cut.firstPath[new] = target
                cut.directories[made]?.certain[name] = new
                cut.directories[made]?.seen[name] = new
                moved[object] = new
            } else if directories[object] != nil {
                mkdir(target, 0o700)
                let new = Self.object(target)
                let below = known.path == nil ? nil : cut.path(made, name)
                cut.directories[new] = Directory(path: below)
                cut.directories[made]?.certain[name] = new
                cut.directories[made]?.seen[name] = new
                copy(object, to: target, new, into: &cut, &moved, &random)
            }
        }
    }

    /// What says that a sync was under way says so of the run of the kernel that is over.
    private static func inNextBoot(_ name: String, below own: Bool) -> String {
        guard own else { return name }
        for prefix in ["sync-running-", "unsynced-"] where name.hasPrefix(prefix) { return prefix + "earlier" }
        return name
    }

    private static func make(_ path: String, _ content: [UInt8]) {
        let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard number >= 0 else { return }
        content.withUnsafeBytes { _ = Glibc.write(number, $0.baseAddress, $0.count) }
        close(number)
    }
}

extension [UInt8] {
    fileprivate mutating func apply(_ change: Medium.Change) {
        switch change {
        case .write(let offset, let bytes): put(bytes, at: offset)
        case .truncate(let size): resize(to: size)
        }
    }

    /// Writes as pwrite(2) does: what is skipped is zero.
    mutating func put(_ bytes: [UInt8], at offset: Int) {
        resize(to: Swift.max(count, offset + bytes.count))
        replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    mutating func resize(to size: Int) {
        if count > size { removeLast(count - size) } else { self += [UInt8](repeating: 0, count: size - count) }
    }
}
