/// The first line of a message, with which requests and answers differ.
protocol FirstLine: Sendable {
    /// Empty lines that may stand in front of it.
    static var emptyLines: Int { get }

    /// Bytes of the line with its end.
    var size: Int { get }

    /// - Parameter line: without its end; empty when there are more empty ones than may be.
    init(_ line: UnsafeRawBufferPointer) throws(HTTPFault)

    /// What is said when the line is longer than it may be.
    ///
    /// - Parameter line: `HTTPLimits.firstLine` bytes of it, or more.
    static func fault(longLine line: UnsafeRawBufferPointer) -> HTTPFault
}
