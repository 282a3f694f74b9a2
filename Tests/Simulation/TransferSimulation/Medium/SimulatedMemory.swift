import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferTestSupport

/// Storage of a simulated server, a disk or memory, until the process of the server dies.
protocol SimulatedStorage: AnyObject {
    /// Content as every program sees it, and as a power cut would leave it.
    var medium: Medium { get }
    var isDead: Bool { get }
    /// Number of all calls, of failed calls, and of failed syncs.
    var calls: UInt64 { get }
    var failures: Int { get }
    var failedSyncs: Int { get }
    /// Whether a removal has failed, so that a file stays.
    var hasKeptSomething: Bool { get }
    /// Whether a sync took place without a mark that says so.
    var hasSyncedUnmarked: Bool { get }
    /// Whether a call used a closed descriptor.
    var hasUsedClosed: Bool { get }
    /// Whether a call has failed otherwise than by the death of the process.
    var hasRefused: Bool { get }

    /// Opens the store for a server that starts.
    func open(at path: String, _ limits: SpaceLimits, syncsAsAWhole: Bool) throws -> any ServerStore

    /// Ends the process: its later calls have no effect.
    func die()

    /// Changes of names since the last call of this method.
    func takeNamings() -> [SimulatedDisk.Naming]

    func arm(_ fault: SimulatedDisk.Fault?)
    func arm(_ interlude: SimulatedDisk.Interlude?)

    /// Applies changes of other programs, which have synced them.
    func change(_ body: (inout Medium) -> Void)

    /// The state that a power cut leaves, in a new directory. The process must be dead.
    ///
    /// - Parameter isCopied: whether the state is copied to another disk.
    func cut(to path: String, isCopied: Bool, _ random: inout SplitMix64) -> Medium

    /// Creates the storage of the next server.
    ///
    /// - Parameters:
    ///   - medium: the state that this storage has left.
    ///   - boot: number of the machine's boot, which a power cut ends.
    func renewed(_ medium: Medium, boot: Int, seed: UInt64) -> any SimulatedStorage
}

/// The memory of `MemoryStore`, mirrored by a medium in which everything is durable. The process dies between two
/// publications or changes, and not during one of them. No call fails, and other programs change nothing.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SimulatedMemory: SimulatedStorage, @unchecked Sendable {
    private let memory: MemoryMedium
    private let trace: Trace
    private var mirror: Medium
    private var namings: [SimulatedDisk.Naming] = []
    /// Whether an object that gets the path of the last naming replaces the object that has lost the path.
    private var mayReplace = false
    /// The moment of the memory that the mirror shows.
    private var shown: Int64?
    /// Memory that the process has left; nil while the process lives.
    private var left: MemoryMedium?
    private var interlude: SimulatedDisk.Interlude?

    private(set) var calls: UInt64 = 0
    let failures = 0
    let failedSyncs = 0
    let hasKeptSomething = false
    let hasSyncedUnmarked = false
    let hasUsedClosed = false
    let hasRefused = false

    init(_ memory: MemoryMedium, _ mirror: Medium, trace: Trace) {
        (self.memory, self.mirror, self.trace) = (memory, mirror, trace)
        memory.follow { [unowned self] in play() }
    }

    convenience init(root: String, clock: VirtualClock, trace: Trace) {
        self.init(MemoryMedium { clock.stamp() }, Medium(root: root, clock: clock), trace: trace)
    }

    var medium: Medium {
        follow()
        return mirror
    }

    var isDead: Bool { left != nil }

    func open(at path: String, _ limits: SpaceLimits, syncsAsAWhole: Bool) throws -> any ServerStore {
        try MemoryStore(memory, limits: limits, clock: { 0 })
    }

    func die() {
        guard !isDead else { return }
        follow()
        left = memory.left()
    }

    func takeNamings() -> [SimulatedDisk.Naming] {
        follow()
        defer { namings = [] }
        return namings
    }

    func arm(_ fault: SimulatedDisk.Fault?) {}

    func arm(_ interlude: SimulatedDisk.Interlude?) { self.interlude = interlude }

    private func play() {
        guard !isDead, let interlude else { return }
        guard interlude.wait == 0 else {
            self.interlude?.wait -= 1
            return
        }
        self.interlude = nil
        interlude.body()
    }

    func change(_ body: (inout Medium) -> Void) {}

    func cut(to path: String, isCopied: Bool, _ random: inout SplitMix64) -> Medium {
        guard let left else { preconditionFailure("the process is not dead") }
        left.losePower()
        mirror.show(left.look())
        return mirror
    }

    func renewed(_ medium: Medium, boot: Int, seed: UInt64) -> any SimulatedStorage {
        guard let left else { preconditionFailure("the process is not dead") }
        return SimulatedMemory(left, medium, trace: trace)
    }

    /// Brings the mirror up to date.
    private func follow() {
        guard !isDead, shown != memory.moment else { return }
        shown = memory.moment
        let look = memory.look()
        for change in look.changes {
            note(change, in: look.tree)
        }
        mirror.show(look)
    }

    private func note(_ change: MemoryTree.NameChange, in tree: MemoryTree) {
        switch change {
        case .given(let path, let number):
            trace.add(path.parent?.string ?? "")
            trace.add(Trace.withoutChance(String(path.name)))
            // A folder is made after another object has lost the path. A file or link replaces the object at its path.
            note(
                path.string, Int(number),
                replaces: tree.node(number).map { $0.bytes != nil || $0.target != nil } ?? true)
        case .taken(let path, let node):
            mirror.keep(node)
            note(gone: path.string, node.number)
        case .moved(let path, let target, let number, let moves):
            trace.add(target.string)
            note(target.string, Int(number), replaces: true, moves: moves)
            note(gone: path.string, number, isRenamed: true)
        case .ended: return mayReplace = false
        }
        calls += 1
    }

    private func note(_ path: String, _ object: Int, replaces: Bool, moves: [MemoryTree.Move] = []) {
        guard Medium.isFollowed(path) else { return }
        var replaced: Medium.Object?
        if replaces, let last = namings.last, last.path == path, mayReplace {
            replaced = last.replacedObject
            namings.removeLast()
        }
        namings.append(
            SimulatedDisk.Naming(
                path: path, object: object, replacedObject: replaced, replaced: replaced.flatMap(mirror.seen),
                moves: moves.map { SimulatedDisk.Move(object: Int($0.number), path: $0.path, target: $0.target) }))
        mayReplace = false
    }

    private func note(gone path: String, _ number: UInt64, isRenamed: Bool = false) {
        guard Medium.isFollowed(path) else { return }
        namings.append(
            SimulatedDisk.Naming(
                path: path, object: nil, replacedObject: Int(number), replaced: nil, isRenamed: isRenamed))
        mayReplace = !isRenamed
    }
}

extension Medium {
    /// Objects for the folder of incomplete uploads, and for the server's own folder if the store has no own folder.
    private static let (incoming, ownFolder): (Object, Object) = (-1, -2)

    /// Whether a path is outside the server's own folder, or in the trash.
    fileprivate static func isFollowed(_ path: String) -> Bool {
        isInTrash(path) || !(path == own || path.hasPrefix(own + "/"))
    }

    /// Shows the content of the memory. Files that are gone keep their last content.
    fileprivate mutating func show(_ look: MemoryLook) {
        version += 1
        directories = [:]
        show(look.tree, MemoryTree.top, "")
        var names: [String: Object] = [:]
        for (index, (id, bytes)) in look.parts.enumerated() {
            let object = Self.ownFolder - 1 - index
            files[object] = File(seen: bytes.bytes, certain: bytes.bytes)
            names["\(id).part"] = object
            if look.appends.contains(id) { names["\(id).sheet"] = object }
        }
        let ownFolder = object(at: Self.own) ?? Self.ownFolder
        directories[Self.incoming] = Directory(seen: names, certain: names)
        for (folder, name, object) in [(root, Self.own, ownFolder), (ownFolder, "incoming", Self.incoming)] {
            directories[folder, default: Directory()].seen[name] = object
            directories[folder, default: Directory()].certain[name] = object
        }
    }

    private mutating func show(_ tree: MemoryTree, _ number: UInt64, _ path: String) {
        guard let node = tree.node(number) else { return }
        keep(node)
        guard case .folder(let children) = node.form else { return }
        let names = Dictionary(uniqueKeysWithValues: children.map { ($0.key.string, Object($0.value)) })
        directories[Object(number)] = Directory(
            path: Self.isFollowed(path) ? path : nil, seen: names, certain: names, modified: node.version.revision)
        for (name, child) in children { show(tree, child, path.isEmpty ? name.string : path + "/" + name.string) }
    }

    /// Records the present or last state of a file or link.
    fileprivate mutating func keep(_ node: MemoryTree.Node) {
        let (object, version) = (Object(node.number), node.version)
        if let text = node.target { links[object] = text }
        guard let bytes = node.bytes, files[object]?.changed != version.touch else { return }
        let content = bytes.bytes
        files[object] = File(seen: content, certain: content, modified: version.revision, changed: version.touch)
    }
}
