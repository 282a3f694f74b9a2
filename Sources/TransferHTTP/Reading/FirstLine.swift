/// The first line of a message, in which requests and answers differ.
protocol FirstLine: Sendable {
    /// The maximum number of empty lines that may precede the first line.
    static var emptyLines: Int { get }

    /// Bytes of the line, including its line end.
    var size: Int { get }

    /// - Parameter line: the line without its end; empty if there were more empty lines than permitted.
    init(_ line: UnsafeRawBufferPointer) throws(HTTPFault)

    /// The fault for a line that is too long.
    ///
    /// - Parameter line: the beginning of the line, at least its first `HTTPLimits.firstLine` bytes.
    static func fault(longLine line: UnsafeRawBufferPointer) -> HTTPFault
}
