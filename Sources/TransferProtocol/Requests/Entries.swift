import TransferModel

/// Some of what a list has; any number of these frames answer it, and an `outcome` ends them.
package struct Entries: Equatable, Sendable {
    /// Of the request.
    package var id: UInt32

    package var entries: [ListedEntry]

    /// Bytes that all entries of one frame may take together: a body without its id, count and check.
    package static let room = Limits.controlBody - 4 - 2 - 3 - FrameCheck.size

    package init(id: UInt32, _ entries: [ListedEntry]) {
        self.id = id
        self.entries = entries
    }

    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        id = try reader.integer(UInt32.self)
        // What a body can hold bounds them: nothing is reserved for what is only said.
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
