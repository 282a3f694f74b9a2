import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore

/// A file, folder or symbolic link in one of two trees that are compared. Small, because a tree may have millions.
final class SyncEntry: Sendable {
    enum Form: Equatable, Sendable {
        /// A file with this number of bytes of content.
        case file(UInt64)
        case folder
        /// A symbolic link with this target.
        case link([UInt8])
    }

    /// Identifies a file with several names within one tree.
    struct NamedFile: Hashable, Sendable {
        let high: UInt64
        let low: UInt64
    }

    /// What only one side knows of an entry.
    enum Side: Sendable {
        case here(ContentVersion)
        case server(FileVersion, Digest?)
    }

    /// The path below the top of the tree.
    let path: RelativePath

    let form: Form
    let modified: Timestamp

    /// Permission bits, 0 to 0o777.
    let permissions: UInt16

    let extra: ExtraAttributes

    /// Whether the entry has extended attributes that the server cannot send.
    let isPartial: Bool

    /// Identifies the file if it has more than one name; otherwise nil.
    let named: NamedFile?

    /// Nil for an entry that was not read from either side, because it is yet to be created.
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

    /// Whether it is a folder in which its owner cannot work without more permissions.
    var isClosed: Bool { isFolder && permissions & 0o700 != 0o700 }

    /// Permissions of a folder while changes are made in it: for others, no more than the final ones.
    var openPermissions: UInt16 { permissions | 0o700 }

    /// The same entry under another path.
    func at(_ path: RelativePath) -> SyncEntry {
        SyncEntry(
            path, form, modified: modified, permissions: permissions, extra, named, side, isPartial: isPartial)
    }

    /// Whether attributes differ; content is not compared.
    func differs(from there: SyncEntry, _ keeping: AttributeKeeping) -> Bool {
        if isPartial || modified != there.modified { return true }
        if !isLink, keeping.differ((permissions, there.permissions), isFolder: isFolder) { return true }
        return extra.differs(from: there.extra, keepsOwners: keeping.owners)
    }
}

extension ExtraAttributes {
    /// Whether any attributes that both sides know differ.
    func differs(from there: ExtraAttributes, keepsOwners: Bool) -> Bool {
        if keepsOwners, let owner, let other = there.owner, owner != other { return true }
        if let extended, let other = there.extended { return extended != other }
        return false
    }
}

extension SyncEntry {
    /// Makes an entry on this machine.
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

    /// Makes an entry from a server's list with all attributes.
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

    /// Makes an entry from a server's answer.
    ///
    /// - Returns: nil if the path is not valid.
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

    /// The same entry for a side that cannot set owners.
    var withoutOwner: SyncEntry {
        SyncEntry(
            path, form, modified: modified, permissions: permissions, extra.keeping(owner: false), named, side,
            isPartial: isPartial)
    }

    /// Version of an entry on this machine; nil for a server's.
    var version: ContentVersion? { if case .here(let version) = side { version } else { nil } }

    /// Version of an entry on a server; nil for an entry on this machine.
    var stored: FileVersion? { if case .server(let version, _) = side { version } else { nil } }

    /// Digest of a file on a server, if the list had it.
    var digest: Digest? { if case .server(_, let digest) = side { digest } else { nil } }

    /// The entry of a file on a server in the form that a pull needs.
    ///
    /// - Parameter asked: the digest, if the list did not have it.
    func remote(_ asked: Digest?) -> RemoteEntry? {
        guard case .server(let version, let digest) = side, isFile else { return nil }
        return RemoteEntry(
            path.string,
            ListedEntry(
                .file, name: String(path.name), size: size, modified: modified, permissions: permissions,
                version: version, digest: digest ?? asked, extras: .init(attributes: extra)))
    }
}
