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

    /// Whether the upload begins with it.
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
