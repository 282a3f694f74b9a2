package import TransferModel

/// What a sender declares of an upload before its content comes, in whatever way it came in.
package struct UploadIntent: Equatable, Sendable {
    /// The server's id of it, which tells uploads of different clients apart.
    package var id: UploadID

    /// As the sender names it; nothing is known of it before the intake has looked.
    package var path: String

    /// Bytes of content, or nothing when the source has no end yet. Of a part, and of what is appended, its own.
    package var size: UInt64?

    package var kind: ContentKind

    /// What the content is digested with.
    package var function: DigestFunction

    package var conflict: ConflictPolicy

    package var modified: Timestamp?

    /// Permission bits, 0 to 0o777; others are dropped.
    package var permissions: UInt16?

    /// Whether the permissions are taken as they are, whatever the server's umask says.
    package var keepsPermissions = false

    /// Owner and extended attributes, of an upload that is sent whole or ended; nothing where they are not kept.
    package var attributes: ExtraAttributes?

    package var extent: Extent

    /// Of the whole upload, how many bytes are not in holes as far as its sender can tell; nothing for content that has none.
    package var filled: UInt64?

    /// What it may take the place of, where it overwrites; `FileVersion.none` for nothing, and nil for whatever is there.
    package var replaceable: FileVersion?

    /// The people that it is for, each once; nobody for one that is stored under its path.
    package var recipients: [String]

    /// What only they can read, of a sealed upload.
    package var note: [UInt8]?

    /// What of an upload this opens.
    package enum Extent: Equatable, Sendable {
        /// All of it.
        case whole
        /// Some blocks of it, on any connection.
        case part(UploadPart)
        /// Its end: the content is what its parts brought.
        case multipart
        /// What comes behind all that there is of an append upload.
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
    /// Whether it is for somebody, and has no path of its own.
    var isMail: Bool { !recipients.isEmpty }

    /// Bytes that the upload has at least, as far as this tells: a stream tells no more than where its parts are.
    var leastSize: UInt64 {
        if case .append(let append) = extent { return max(append.offset.addingClamped(size ?? 0), append.total ?? 0) }
        guard case .part(let part) = extent else { return size ?? 0 }
        guard let range = part.range(size: size ?? 0) else { return .max }
        return max(range.upperBound, part.total ?? 0)
    }

    /// Of the upload that this opens, or opens a part of.
    var wholeID: UploadID {
        if case .part(let part) = extent { part.upload } else { id }
    }

    /// Whether the content has, or may have, more than one block. Short uploads are over as soon as they have begun.
    var isLong: Bool {
        if case .multipart = extent { return false }
        return size.map { $0 > UInt64(Limits.blockSize) } ?? true
    }

    /// Bytes of an append upload of which all is there, so that this request only ends it; nil for any other upload.
    var sizeOfAll: UInt64? {
        guard case .append(let append) = extent, !append.isNew, append.total == append.offset else { return nil }
        return append.total
    }

    /// Bytes of the upload that this opens, or opens a part of.
    package var uploadSize: UInt64? {
        switch extent {
        case .part(let part): part.total
        case .append(let append): append.total
        case .whole, .multipart: size
        }
    }
}

/// Where the content of a part belongs in its upload. It is some whole blocks, so that its block digests are those of the upload, or a
/// piece of one.
package struct UploadPart: Equatable, Sendable {
    /// The upload's id; the part has one of its own.
    package var upload: UploadID

    /// Bytes of the upload before the part, a multiple of the size of a block or, of a piece of one, of `Limits.pieceSize`.
    package var offset: UInt64

    /// Bytes of the upload, or nothing while its source has no end yet.
    package var total: UInt64?

    package init(of upload: UploadID, offset: UInt64, total: UInt64?) {
        (self.upload, self.offset, self.total) = (upload, offset, total)
    }

    /// Where a part of so many bytes is in its upload; nothing when it would end beyond any number, or behind the end.
    package func range(size: UInt64) -> Range<UInt64>? {
        let (end, overflow) = offset.addingReportingOverflow(size)
        return overflow || end > total ?? end ? nil : offset..<end
    }
}

/// What a sender declares when all content has come. The classic framings declare nothing of it.
package struct DeclaredEnd: Equatable, Sendable {
    /// Bytes of content.
    package var size: UInt64?

    /// Plain or tree, as the size demands.
    package var digest: Digest?

    package init(size: UInt64? = nil, digest: Digest? = nil) {
        (self.size, self.digest) = (size, digest)
    }
}

/// What one request brings of an append upload.
package struct UploadAppend: Equatable, Sendable {
    /// What makes it the last one.
    package enum Ending: Equatable, Sendable {
        /// Nothing: more may always follow.
        case never
        /// The declared size.
        case atTotal
        /// That its sender has said so.
        case here
    }

    /// Bytes before it: as many as there are.
    package var offset: UInt64

    /// Bytes of the upload, as soon as its sender says so.
    package var total: UInt64?

    package var ending: Ending

    /// Whether the upload begins with it. Its id must be one that no append upload had before: where a power cut undoes the removal of an
    /// earlier one's sheet, that sheet would say of bytes that were never synced that they are durable.
    package var isNew: Bool

    /// Whether it counts only as a whole, because its sender says at its end what it is.
    package var isUnproven: Bool

    /// What the front end has to know of the upload later; kept with one that is new.
    package var note: [UInt8]

    package init(
        at offset: UInt64, total: UInt64?, ending: Ending, isNew: Bool = false, isUnproven: Bool = false,
        note: [UInt8] = []
    ) {
        (self.offset, self.total, self.ending) = (offset, total, ending)
        (self.isNew, self.isUnproven, self.note) = (isNew, isUnproven, note)
    }
}
