import TransferModel
import TransferPorts

extension NodeRow {
    /// A new node without a name.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    init(_ number: UInt64, _ form: Form, permissions: UInt16, at moment: Int64) {
        self.init(
            number: number, folder: 0, name: PathKey(""), form: form, touch: moment, modified: Timestamp(utc: moment),
            permissions: permissions)
    }

    /// - Throws: `pathConflict` for a file, `invalidPath` for a link: neither can have paths below it.
    func checkIsFolder(_ path: RelativePath) throws(Failure) {
        guard !isFolder else { return }
        guard target == nil else {
            throw Failure(.invalidPath, "\(path) is a symbolic link, and no path goes through one.")
        }
        throw .taken(path)
    }

    var found: FoundObject { FoundObject(file != nil ? .file : isFolder ? .folder : .link, version) }

    var attributes: StoredAttributes {
        StoredAttributes(
            isDirectory: isFolder, size: file?.size ?? 0, modified: modified, permissions: permissions,
            version: version, hasGivenTime: hasGivenTime)
    }

    /// - Returns: nil for a node whose name no path can have.
    func whole(at path: RelativePath) -> WholeEntry {
        let owner = extra.owner ?? ExtraAttributes.Owner(user: 0, group: 0)
        return WholeEntry(
            path, attributes, target: target, object: FileObject(volume: 0, number: number),
            extra: target == nil
                ? ExtraAttributes(owner: owner, extended: extra.extended ?? []) : ExtraAttributes(owner: owner))
    }

    /// The attributes of the top, which has no row.
    static let topAttributes = StoredAttributes(
        isDirectory: true, size: 0, modified: Timestamp(seconds: 0, nanoseconds: 0), permissions: 0o755,
        version: ContentVersion(object: top, revision: Int64(top), touch: 0, size: 0), hasGivenTime: false)

    /// The node with other attributes; those that are nil stay.
    func with(_ attributes: TreeChange.Attributes) -> NodeRow {
        var node = self
        if target == nil, let permissions = attributes.permissions { node.permissions = permissions & 0o777 }
        if let modified = attributes.modified { (node.modified, node.hasGivenTime) = (modified, true) }
        if let owner = attributes.extra?.owner { node.extra.owner = owner }
        if let extended = attributes.extra?.extended { node.extra.extended = extended }
        return node
    }
}

extension Timestamp {
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    init(utc moment: Int64) {
        let second: Int64 = 1_000_000_000
        let (whole, part) = moment.quotientAndRemainder(dividingBy: second)
        self.init(seconds: part < 0 ? whole - 1 : whole, nanoseconds: UInt32(clamping: part < 0 ? part + second : part))
    }
}
