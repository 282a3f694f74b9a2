import TransferModel

extension FileVersion {
    init(_ reader: inout BodyReader) throws(ProtocolFault) {
        self.init(high: try reader.integer(UInt64.self), low: try reader.integer(UInt64.self))
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
    }
}
