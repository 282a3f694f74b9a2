package import TransferModel
import TransferPorts

/// Files, folders and links in memory, with their names. Each change takes effect at once. The owner of the tree holds
/// a lock while it makes changes that belong together.
package struct MemoryTree: Sendable {
    package struct Node: Sendable {
        package enum Form: Sendable {
            case file(PagedBytes)
            case folder([PathKey: UInt64])
            case link([UInt8])
        }

        package let number: UInt64
        package fileprivate(set) var form: Form
        var permissions: UInt16
        var revision: Int64
        var touch: Int64
        var modified: Timestamp
        var hasGivenTime = false
        var extra = ExtraAttributes()
        var names: UInt32 = 0
    }

    /// A change of one name, or the end of the changes of one moment.
    package enum NameChange: Sendable {
        case given(RelativePath, to: UInt64)

        /// The name was removed from this node.
        case taken(RelativePath, from: Node)

        /// An object has got another name. The moves list the files and links whose paths have changed by that: the
        /// object itself, or the content of the folder.
        case moved(RelativePath, to: RelativePath, UInt64, [Move])

        /// The changes of one moment end here. A node that gets a name after this does not replace the node that lost
        /// the name before.
        case ended
    }

    package struct Move: Sendable {
        package let number: UInt64
        package let path: String
        package let target: String
    }

    /// The number of the top folder.
    package static let top: UInt64 = 1

    private var nodes: [UInt64: Node] = [:]
    private var lastNumber = Self.top
    private(set) var lastMoment: Int64 = 0
    /// Changes of names since the last `takeChanges`; nil unless `follow` was called.
    private var changes: [NameChange]?
    private let clock: @Sendable () -> Int64

    /// - Parameter clock: UTC, in nanoseconds since 1970.
    init(clock: @escaping @Sendable () -> Int64) {
        self.clock = clock
        let moment = tick()
        nodes[Self.top] = Node(
            number: Self.top, form: .folder([:]), permissions: 0o755, revision: moment, touch: moment,
            modified: Timestamp(utc: moment), names: 1)
    }

    /// Returns a moment that is later than all earlier results, even if the clock stands still or goes back.
    private mutating func tick() -> Int64 {
        lastMoment = max(lastMoment + 1, clock())
        return lastMoment
    }
}

// MARK: Looking

extension MemoryTree {
    /// The node at a path; nil if it does not exist. A nil path stands for the top folder.
    func node(at path: RelativePath?) -> Node? { number(at: path).flatMap { nodes[$0] } }

    package func node(_ number: UInt64) -> Node? { nodes[number] }

    /// The names in a folder, in the order of their bytes.
    func names(in folder: Node) -> [(name: String, node: Node)] {
        guard case .folder(let children) = folder.form else { return [] }
        return children.sorted { $0.key < $1.key }.compactMap { name, number in
            nodes[number].map { (name.string, $0) }
        }
    }

    /// - Throws: `pathConflict` or `invalidPath` if a file or a link is in the place of a folder above `path`.
    func checkFolders(above path: RelativePath) throws(Failure) {
        guard let folder = path.parent else { return }
        if let there = node(at: folder) { return try there.checkIsFolder(folder) }
        try checkFolders(above: folder)
    }

    private func number(at path: RelativePath?) -> UInt64? {
        var found = Self.top
        for component in path?.components ?? [] {
            guard case .folder(let children)? = nodes[found]?.form, let next = children[PathKey(String(component))]
            else { return nil }
            found = next
        }
        return found
    }

    /// Calls `body` with all files below a folder, each with its path.
    func forEachFile(below folder: RelativePath?, _ body: (RelativePath, Node) -> Void) {
        var folders: [RelativePath?] = [folder]
        while let path = folders.popLast() {
            guard let node = node(at: path) else { continue }
            for (name, child) in names(in: node) {
                guard let path = RelativePath.child(name, of: path) else { continue }
                if child.isFolder { folders.append(path) } else if child.bytes != nil { body(path, child) }
            }
        }
    }
}

// MARK: Changing

extension MemoryTree {
    /// Makes a node that has no name yet.
    mutating func make(_ form: Node.Form, permissions: UInt16) -> UInt64 {
        let moment = tick()
        lastNumber += 1
        nodes[lastNumber] = Node(
            number: lastNumber, form: form, permissions: permissions, revision: moment, touch: moment,
            modified: Timestamp(utc: moment))
        return lastNumber
    }

    /// Makes a folder and the folders above it, unless they exist.
    ///
    /// - Throws: `pathConflict` if a file has one of the paths, `invalidPath` if a link has it.
    mutating func makeFolder(_ path: RelativePath?) throws(Failure) {
        guard let path else { return }
        if let there = node(at: path) { return try there.checkIsFolder(path) }
        try makeFolder(path.parent)
        let number = make(.folder([:]), permissions: path.leadsToTrash ? 0o700 : 0o755)
        try give(path, to: number)
    }

    /// Gives a node a name, which has to be free, in an existing folder.
    mutating func give(_ path: RelativePath, to number: UInt64) throws(Failure) {
        guard let folder = self.number(at: path.parent), nodes[folder]?.isFolder == true else {
            throw .notFound(path.parent)
        }
        nodes[folder]?.setName(PathKey(String(path.name)), number)
        nodes[number]?.names += 1
        touch(number)
        change(folder)
        changes?.append(.given(path, to: number))
    }

    /// Removes a name, and the node with its last name.
    ///
    /// - Returns: the node without the name; nil if there is no node at the path.
    @discardableResult
    mutating func take(_ path: RelativePath) -> Node? {
        guard let number = number(at: path), let folder = self.number(at: path.parent) else { return nil }
        nodes[folder]?.setName(PathKey(String(path.name)), nil)
        nodes[number]?.names -= 1
        touch(number)
        change(folder)
        let node = nodes[number]
        if node?.names == 0 { nodes[number] = nil }
        if let node { changes?.append(.taken(path, from: node)) }
        return node
    }

    /// Renames a node. The new path has to be free.
    mutating func move(_ path: RelativePath, to target: RelativePath) throws(Failure) {
        guard let number = number(at: path) else { throw .notFound(path) }
        try give(target, to: number)
        take(path)
        guard changes != nil else { return }
        let moves = moves(of: number, path.string, target.string)
        changes?.removeLast(2)
        changes?.append(.moved(path, to: target, number, moves))
    }

    private func moves(of number: UInt64, _ path: String, _ target: String) -> [Move] {
        guard let node = nodes[number], node.isFolder else {
            return [Move(number: number, path: path, target: target)]
        }
        return names(in: node).flatMap { name, node in
            moves(of: node.number, "\(path)/\(name)", "\(target)/\(name)")
        }
    }

    /// Records changes of names from now on.
    mutating func follow() { changes = [] }

    var isFollowed: Bool { changes != nil }

    mutating func end() { changes?.append(.ended) }

    mutating func takeChanges() -> [NameChange] {
        defer { if changes != nil { changes = [] } }
        return changes ?? []
    }

    mutating func set(
        _ number: UInt64, permissions: UInt16?, modified: Timestamp?, _ extra: ExtraAttributes?
    ) {
        if let permissions { nodes[number]?.permissions = permissions & 0o777 }
        if let modified {
            nodes[number]?.modified = modified
            nodes[number]?.hasGivenTime = true
            // A modification time that was set counts as a change, because it shows in a directory whether the content
            // may have changed.
            nodes[number]?.revision = modified.seconds &* 1_000_000_000 &+ Int64(modified.nanoseconds)
        }
        if let owner = extra?.owner { nodes[number]?.extra.owner = owner }
        if let extended = extra?.extended { nodes[number]?.extra.extended = extended }
        touch(number)
    }

    /// Replaces the content of a file, as another program would.
    mutating func write(_ bytes: PagedBytes, to number: UInt64) {
        nodes[number]?.form = .file(bytes)
        change(number)
    }

    /// Removes a folder of the trash if it is empty, and then the empty folders above it.
    mutating func tidyTrash(_ folder: RelativePath) {
        var next: RelativePath? = folder
        while let path = next, path.leadsToTrash, path != .trashFolder, node(at: path)?.isEmptyFolder == true {
            take(path)
            next = path.parent
        }
    }

    private mutating func touch(_ number: UInt64) {
        let moment = tick()
        nodes[number]?.touch = moment
    }

    private mutating func change(_ number: UInt64) {
        let moment = tick()
        nodes[number]?.revision = moment
        nodes[number]?.touch = moment
        nodes[number]?.modified = Timestamp(utc: moment)
        nodes[number]?.hasGivenTime = false
    }
}

// MARK: Properties of nodes

extension MemoryTree.Node {
    /// The content of a file; nil for a folder or a link.
    package var bytes: PagedBytes? { if case .file(let bytes) = form { bytes } else { nil } }

    var isFolder: Bool { if case .folder = form { true } else { false } }

    /// - Throws: `pathConflict` for a file, `invalidPath` for a link: neither can have paths below it.
    func checkIsFolder(_ path: RelativePath) throws(Failure) {
        guard !isFolder else { return }
        throw target == nil ? .taken(path) : .throughLink(path)
    }

    var isEmptyFolder: Bool { if case .folder(let children) = form { children.isEmpty } else { false } }

    /// The target of a link; nil for a file or a folder.
    package var target: [UInt8]? { if case .link(let target) = form { target } else { nil } }

    package var version: ContentVersion {
        ContentVersion(object: number, revision: revision, touch: touch, size: bytes?.size ?? 0)
    }

    /// The version of a file; nil for a folder or a link.
    var fileVersion: ContentVersion? { bytes == nil ? nil : version }

    var found: FoundObject { FoundObject(bytes != nil ? .file : isFolder ? .folder : .link, version) }

    var attributes: StoredAttributes {
        StoredAttributes(
            isDirectory: isFolder, size: bytes?.size ?? 0, modified: modified, permissions: permissions,
            version: version, hasGivenTime: hasGivenTime)
    }

    func whole(at path: RelativePath) -> WholeEntry {
        let owner = extra.owner ?? ExtraAttributes.Owner(user: 0, group: 0)
        return WholeEntry(
            path, attributes, target: target, object: FileObject(volume: 0, number: number),
            names: bytes == nil ? 1 : names,
            extra: target == nil
                ? ExtraAttributes(owner: owner, extended: extra.extended ?? []) : ExtraAttributes(owner: owner))
    }

    /// The number of bytes that removing one name frees: 0 if the file has other names.
    var freed: UInt64 { names < 2 ? bytes?.size ?? 0 : 0 }

    fileprivate mutating func setName(_ name: PathKey, _ number: UInt64?) {
        guard case .folder(var children) = form else { return }
        form = .folder([:])
        children[name] = number
        form = .folder(children)
    }
}

extension Failure {
    fileprivate static func throughLink(_ path: RelativePath) -> Failure {
        Failure(.invalidPath, "\(path) is a symbolic link, and no path goes through one.")
    }
}

extension Timestamp {
    /// - Parameter moment: nanoseconds since 1970.
    fileprivate init(utc moment: Int64) {
        let second: Int64 = 1_000_000_000
        let part = moment - moment / second * second
        self.init(seconds: moment / second, nanoseconds: UInt32(clamping: part))
    }
}
