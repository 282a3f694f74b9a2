import Testing
import TransferModel

/// Frames with a fault, and the result code that names it.
struct FaultyFrames: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let code: ResultCode
    let bytes: [UInt8]

    init(_ name: String, _ code: ResultCode, _ bytes: [UInt8]) {
        testDescription = name
        self.code = code
        self.bytes = bytes
    }
}
