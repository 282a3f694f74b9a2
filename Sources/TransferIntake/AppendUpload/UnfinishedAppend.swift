import TransferModel

/// What there is of an append upload.
package struct UnfinishedAppend: Equatable, Sendable {
    /// As its sender has declared it, with the path as the sender names it and nothing to append.
    package let intent: UploadIntent

    /// Bytes that are durable. They never become fewer.
    package let offset: UInt64

    /// Bytes of the upload, where its sender has said so.
    package let total: UInt64?

    /// What the front end has kept with it.
    package let note: [UInt8]

    /// When it goes unless something is added to it; UTC, in nanoseconds since 1970.
    package let expires: Int64

    init(_ id: UploadID, _ declaration: AppendDeclaration, offset: UInt64, total: UInt64?, expires: Int64) {
        intent = UploadIntent(
            id: id, path: declaration.path, size: nil, kind: declaration.kind, conflict: declaration.conflict,
            modified: declaration.modified, permissions: declaration.permissions,
            extent: .append(UploadAppend(at: offset, total: total, ending: .never)))
        (self.offset, self.total, self.expires) = (offset, total, expires)
        note = declaration.note
    }
}
