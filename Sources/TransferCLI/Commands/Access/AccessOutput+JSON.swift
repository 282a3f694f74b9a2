internal import TransferAccess
internal import TransferModel

extension AccessOutput {
    /// Writes an object a line.
    static func print(_ objects: [JSONLine]) {
        StandardStream.output.write(objects.map { $0.text + "\n" }.joined())
    }

    /// Who may come in, as an object; every key is always there.
    ///
    /// - Parameters:
    ///   - kind: `key`, `token` or `pairing`.
    ///   - id: what it is found by.
    ///   - secret: what lets its owner in, when it was made just now.
    static func json(
        _ kind: String, _ id: String, _ name: String, _ options: AccessOptions, secret: String? = nil
    ) -> JSONLine {
        var object: JSONLine = [
            "schema": .string(secret == nil ? JSONSchema.access : JSONSchema.issued),
            "kind": .string(kind), "id": .string(id), "name": .string(name),
            "folder": options.folder.map { .string($0.string) } ?? .null,
            "quota": options.quota.map { .integer($0) } ?? .null,
            "maxUpload": options.maximumUpload.map { .integer($0) } ?? .null,
            "rights": .string(options.rights.name),
            "expires": options.expires.map { .string($0.description) } ?? .null,
        ]
        if let secret { object.append("secret", .string(secret)) }
        return object
    }
}

extension AccessRights {
    fileprivate var name: String {
        switch self {
        case .readWrite: "read-write"
        case .noRemove: "no-remove"
        case .readOnly: "read-only"
        case .writeOnly: "write-only"
        }
    }
}
