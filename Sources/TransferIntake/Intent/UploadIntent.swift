package import TransferModel

/// What a client declares of an upload before its content, on any wire.
package struct UploadIntent: Equatable, Sendable {
    /// The server's id of the upload. It differs between clients that have chosen the same id.
    package var id: UploadID

    /// The path as the client names it; unchecked until the intake has looked at it.
    package var path: String

    /// Bytes of content; nil if the source has no known end. For a part or an append request: the bytes of this part or
    /// request.
    package var size: UInt64?

    package var kind: ContentKind

    /// The function that digests the content.
    package var function: DigestFunction

    package var conflict: ConflictPolicy

    package var modified: Timestamp?

    /// Permission bits, 0 to 0o777; other bits are dropped.
    package var permissions: UInt16?

    /// Whether the file gets exactly these permissions, whatever the server's umask is.
    package var keepsPermissions = false

    /// Owner and extended attributes of a whole upload or of the end of a multipart upload; nil if they are not kept.
    package var attributes: ExtraAttributes?

    package var extent: Extent

    /// How many bytes of the whole upload are not in holes, as far as the client knows; nil for content without holes.
    package var filled: UInt64?

    /// The version that an overwriting upload may replace: `FileVersion.none` for none, nil for any.
    package var replaceable: FileVersion?

    /// The people that the upload is addressed to, without duplicates; empty for an upload that is stored under its
    /// path.
    package var recipients: [String]

    /// The note of a sealed upload, which only the recipients can read.
    package var note: [UInt8]?

    /// Which part of an upload this intent opens.
    package enum Extent: Equatable, Sendable {
        /// All of the upload's content.
        case whole
        /// Some blocks of the upload, on any connection.
        case part(UploadPart)
        /// The end of a multipart upload; its content is what the parts brought.
        case multipart
        /// The next bytes of an append upload.
        case append(UploadAppend)
    }

    package init(
        id: UploadID, path: String, size: UInt64?, kind: ContentKind = .file, function: DigestFunction = .xxh128,
        conflict: ConflictPolicy = .keepBoth, modified: Timestamp? = nil, permissions: UInt16? = nil,
        extent: Extent = .whole, recipients: [String] = [], note: [UInt8]? = nil
    ) {
        (self.id, self.path, self.size) = (id, path, size)
        (self.kind, self.function, self.conflict) = (kind, function, conflict)
        (self.modified, self.permissions, self.extent) = (modified, permissions, extent)
        (self.recipients, self.note) = (recipients, note)
    }
}

extension UploadIntent {
    /// Whether the upload is addressed to people, so that it has no path on the server.
    var isMail: Bool { !recipients.isEmpty }

    /// The fewest bytes that the whole upload can have, according to what the client declares of it or of this part.
    var leastSize: UInt64 {
        if case .append(let append) = extent { return max(append.offset.addingClamped(size ?? 0), append.total ?? 0) }
        guard case .part(let part) = extent else { return size ?? 0 }
        guard let range = part.range(size: size ?? 0) else { return .max }
        return max(range.upperBound, part.total ?? 0)
    }

    /// The id of the upload that this intent opens, or of which it opens a part.
    var wholeID: UploadID {
        if case .part(let part) = extent { part.upload } else { id }
    }

    /// Whether the content has, or may have, more than one block. Shorter uploads are complete as soon as they have
    /// begun.
    var isLong: Bool {
        if case .multipart = extent { return false }
        return size.map { $0 > UInt64(Limits.blockSize) } ?? true
    }

    /// The size of an append upload whose content is complete, so that this request only ends it; nil for any other
    /// upload.
    var sizeOfAll: UInt64? {
        guard case .append(let append) = extent, !append.isNew, append.total == append.offset else { return nil }
        return append.total
    }

    /// The declared size of the whole upload; nil if it is unknown.
    package var uploadSize: UInt64? {
        switch extent {
        case .part(let part): part.total
        case .append(let append): append.total
        case .whole, .multipart: size
        }
    }
}

/// Where a part belongs in its upload. A part either consists of whole blocks, so that its block digests are those of
/// the upload, or is a piece of one block.
package struct UploadPart: Equatable, Sendable {
    /// The id of the upload; the part has another id.
    package var upload: UploadID

    /// Bytes of the upload before the part: a multiple of the block size, or of `Limits.pieceSize` for a piece of a
    /// block.
    package var offset: UInt64

    /// Bytes of the whole upload; nil while its source has no known end.
    package var total: UInt64?

    package init(of upload: UploadID, offset: UInt64, total: UInt64?) {
        (self.upload, self.offset, self.total) = (upload, offset, total)
    }

    /// The range in the upload of a part with this size; nil if it would end behind the upload, or overflow.
    package func range(size: UInt64) -> Range<UInt64>? {
        let (end, overflow) = offset.addingReportingOverflow(size)
        return overflow || end > total ?? end ? nil : offset..<end
    }
}

/// What a client declares when all content has been sent. The classic framings declare nothing here.
package struct DeclaredEnd: Equatable, Sendable {
    /// Bytes of content; nil if the client declares none.
    package var size: UInt64?

    /// A plain digest or a tree digest, depending on the size.
    package var digest: Digest?

    package init(size: UInt64? = nil, digest: Digest? = nil) {
        (self.size, self.digest) = (size, digest)
    }
}

/// What one request adds to an append upload.
package struct UploadAppend: Equatable, Sendable {
    /// Says whether a request is the last one of the upload.
    package enum Ending: Equatable, Sendable {
        /// No request is the last one: more may always follow.
        case never
        /// The upload has its declared size.
        case atTotal
        /// The client declares this request the last one.
        case here
    }

    /// Bytes of the upload before this request; it must be as many as the server has.
    package var offset: UInt64

    /// Bytes of the whole upload; nil until the client declares them.
    package var total: UInt64?

    package var ending: Ending

    /// Whether the upload begins with this request. Its id must be one that no append upload had before: a power cut
    /// can undo the removal of an earlier sheet, which would then call bytes durable that were never synced.
    package var isNew: Bool

    /// Whether the request only counts as a whole, because its client sends the digest at the end.
    package var isUnproven: Bool

    /// Bytes that the front end needs again later; stored with a new upload.
    package var note: [UInt8]

    package init(
        at offset: UInt64, total: UInt64?, ending: Ending, isNew: Bool = false, isUnproven: Bool = false,
        note: [UInt8] = []
    ) {
        (self.offset, self.total, self.ending) = (offset, total, ending)
        (self.isNew, self.isUnproven, self.note) = (isNew, isUnproven, note)
    }
}
