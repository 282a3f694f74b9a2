import TransferModel

/// Entries of a list. Any number of these frames may answer the request; an `outcome` ends the answer.
package struct Entries: Equatable, Sendable {
    /// ID of the request that this answers.
    package var id: UInt32

    package var entries: [ListedEntry]

    /// Most bytes of all entries in one frame: those of a body without ID, count and check.
    package static let room = Limits.controlBody - 4 - 2 - 3 - FrameCheck.size

    package init(id: UInt32, _ entries: [ListedEntry]) {
        self.id = id
        self.entries = entries
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        // No memory is reserved from the count alone, because the length of the body bounds the number of entries.
        let count = Int(try reader.integer(UInt16.self))
        entries = []
        for _ in 0..<count { entries.append(try ListedEntry(&reader)) }
        _ = try reader.fields(known: [])
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: id)
        bytes.append(bigEndian: UInt16(entries.count))
        for entry in entries { entry.encode(into: &bytes) }
    }
}
