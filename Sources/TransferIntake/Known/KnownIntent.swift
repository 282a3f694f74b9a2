import TransferCatalog
import TransferModel

/// What is known of an upload that has begun, whatever server it was begun under: all that its sender has declared, and until
/// when it is kept. What has arrived of it tells `IntakeSession.have`.
package struct KnownIntent: Equatable, Sendable {
    /// As that of its end, with the path as its sender names it.
    package let intent: UploadIntent

    /// When the upload began; UTC, in nanoseconds since 1970.
    package let begun: Int64

    /// When it goes unless something is added to it; UTC, in nanoseconds since 1970.
    package let expires: Int64

    /// - Returns: nothing where its path has no name for the caller any more.
    init?(_ upload: UnfinishedUpload, expires: Int64, for caller: Caller) {
        guard let path = (try? RelativePath(upload.path)).flatMap(caller.clientPath) else { return nil }
        intent = UploadIntent(
            id: upload.id, path: path.string, size: upload.size, kind: upload.kind, function: upload.function,
            conflict: upload.conflict, modified: upload.modified, permissions: upload.permissions, extent: .multipart)
        (begun, self.expires) = (upload.begun, expires)
    }
}
