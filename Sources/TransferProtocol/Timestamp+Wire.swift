import TransferModel

extension Timestamp {
    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        self.init(seconds: try reader.integer(Int64.self), nanoseconds: try reader.integer(UInt32.self))
        guard nanoseconds < 1_000_000_000 else { throw .malformed("A time has more than a second of nanoseconds.") }
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: seconds)
        bytes.append(bigEndian: nanoseconds)
    }
}
