import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore

/// A file, folder or symbolic link in one of two trees that are compared. Small, because there are as many of them as of these.
final class SyncEntry: Sendable {
    enum Form: Equatable, Sendable {
        /// Bytes of content.
        case file(UInt64)
        case folder
        /// What the link says.
        case link([UInt8])
    }

    /// Tells files of several names from each other, in one tree.
    struct NamedFile: Hashable, Sendable {
        let high: UInt64
        let low: UInt64
    }

    /// What only one side knows of it.
    enum Side: Sendable {
        case here(ContentVersion)
        case server(FileVersion, Digest?)
    }

    /// Below the top of the tree.
    let path: RelativePath

    let form: Form
    let modified: Timestamp

    /// 0 to 0o777.
    let permissions: UInt16

    let extra: ExtraAttributes

    /// Whether the server has extended attributes of it that it cannot tell.
    let isPartial: Bool

    /// Of a file with more than one name.
    let named: NamedFile?

    /// Nothing of what nobody has looked at, and that is only going to be made.
    private let side: Side?

    init(
        _ path: RelativePath, _ form: Form, modified: Timestamp, permissions: UInt16, _ extra: ExtraAttributes,
        _ named: NamedFile? = nil, _ side: Side? = nil, isPartial: Bool = false
    ) {
        self.isPartial = isPartial
        (self.path, self.form, self.modified, self.permissions) = (path, form, modified, permissions)
        (self.extra, self.named, self.side) = (extra, named, side)
    }

    var isFolder: Bool { if case .folder = form { true } else { false } }
    var isLink: Bool { if case .link = form { true } else { false } }
    var size: UInt64 { if case .file(let size) = form { size } else { 0 } }
    var isFile: Bool { if case .file = form { true } else { false } }

    /// Whether it is a folder in which its owner can do nothing before it is opened.
    var isClosed: Bool { isFolder && permissions & 0o700 != 0o700 }

    /// Of a folder, those that it has while something is done in it: no more for others than it is going to have.
    var openPermissions: UInt16 { permissions | 0o700 }

    /// The same under another path.
    func at(_ path: RelativePath) -> SyncEntry {
        SyncEntry(
            path, form, modified: modified, permissions: permissions, extra, named, side, isPartial: isPartial)
    }

    /// Whether something beside the content is another one.
    func differs(from there: SyncEntry, _ keeping: AttributeKeeping) -> Bool {
        if isPartial || modified != there.modified { return true }
        if !isLink, keeping.differ((permissions, there.permissions), isFolder: isFolder) { return true }
        return extra.differs(from: there.extra, keepsOwners: keeping.owners)
    }
}

extension ExtraAttributes {
    /// Whether something that is known on both sides is another one.
    func differs(from there: ExtraAttributes, keepsOwners: Bool) -> Bool {
        if keepsOwners, let owner, let other = there.owner, owner != other { return true }
        if let extended, let other = there.extended { return extended != other }
        return false
    }
}

extension SyncEntry {
    /// What is on this machine.
    convenience init(_ found: WholeEntry) {
        let attributes = found.attributes
        let form: Form =
            if let target = found.target {
                .link(target)
            } else {
                attributes.isDirectory ? .folder : .file(attributes.size)
            }
        let named =
            found.names > 1 ? NamedFile(high: found.object.volume, low: found.object.number) : nil
        self.init(
            found.path, form, modified: attributes.modified, permissions: attributes.permissions, found.extra, named,
            .here(attributes.version))
    }

    /// What a server lists, with all that it keeps.
    convenience init(_ path: RelativePath, _ entry: ListedEntry) {
        let form: Form =
            switch entry.form {
            case .symbolicLink: .link(entry.extras?.target ?? [])
            case .directory: .folder
            case .file, .other: .file(entry.size)
            }
        let isNamed = (entry.extras?.names ?? 1) > 1 && entry.form == .file
        self.init(
            path, form, modified: entry.modified, permissions: entry.permissions & 0o777,
            entry.extras?.attributes ?? ExtraAttributes(),
            isNamed ? NamedFile(high: entry.version.high, low: entry.version.low) : nil,
            .server(entry.version, entry.digest), isPartial: entry.extras?.isPartial ?? false)
    }

    /// What a server has told of it, wherever that is.
    ///
    /// - Returns: nothing for what has no path.
    convenience init?(_ entry: RemoteEntry) {
        guard let path = try? RelativePath(entry.path) else { return nil }
        let form: Form =
            if entry.isLink {
                .link(entry.extras?.target ?? [])
            } else {
                entry.isDirectory ? .folder : .file(entry.size)
            }
        let isNamed = (entry.extras?.names ?? 1) > 1 && !entry.isDirectory && !entry.isLink
        self.init(
            path, form,
            modified: Timestamp(seconds: entry.modified.seconds, nanoseconds: entry.modified.nanoseconds),
            permissions: entry.permissions, entry.extras?.attributes ?? ExtraAttributes(),
            isNamed ? NamedFile(high: entry.version.high, low: entry.version.low) : nil,
            .server(entry.version, entry.digest), isPartial: entry.extras?.isPartial ?? false)
    }

    /// The same for whoever cannot give files away.
    var withoutOwner: SyncEntry {
        SyncEntry(
            path, form, modified: modified, permissions: permissions, extra.keeping(owner: false), named, side,
            isPartial: isPartial)
    }

    /// The version of a file on this machine.
    var version: ContentVersion? { if case .here(let version) = side { version } else { nil } }

    /// The version of a file on a server.
    var stored: FileVersion? { if case .server(let version, _) = side { version } else { nil } }

    /// Of the content of a file on a server, where the server has said it.
    var digest: Digest? { if case .server(_, let digest) = side { digest } else { nil } }

    /// A file on a server as a pull knows it.
    ///
    /// - Parameter asked: its digest, where the list has not said it.
    func remote(_ asked: Digest?) -> RemoteEntry? {
        guard case .server(let version, let digest) = side, isFile else { return nil }
        return RemoteEntry(
            path.string,
            ListedEntry(
                .file, name: String(path.name), size: size, modified: modified, permissions: permissions,
                version: version, digest: digest ?? asked, extras: .init(attributes: extra)))
    }
}
