import Glibc
import Testing

@testable import TransferServer

/// The reference describes all metrics, and the alerts and the dashboard name no others.
@Suite struct MetricsDocumentTests {
    private static let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

    private static func read(_ path: String) throws -> String {
        let file = try #require(fopen("\(root)/\(path)", "r"))
        defer { fclose(file) }
        var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Returns: the words that could name metrics, without the suffixes of histograms.
    private static func names(_ text: String) -> Set<String> {
        let words = text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init)
        let found = words.filter { $0.hasPrefix("transfer_") || $0.hasPrefix("process_") }.map { word in
            for suffix in ["_bucket", "_sum", "_count"] where word.hasSuffix(suffix) {
                return String(word.dropLast(suffix.count))
            }
            return word
        }
        return Set(found)
    }

    private static let known = Set(Metric.allCases.map(\.sampleName))

    @Test func theReferenceNamesNoOthers() throws {
        let names = Self.names(try Self.read("docs/reference/metrics.md"))
        #expect(!names.isEmpty && names.isSubset(of: Self.known), "\(names.subtracting(Self.known))")
    }

    @Test(arguments: ["alerts.yml", "dashboard.json"]) func whatIsAskedForIsThere(_ file: String) throws {
        let names = Self.names(try Self.read("packaging/monitoring/\(file)"))
        #expect(!names.isEmpty && names.isSubset(of: Self.known), "\(names.subtracting(Self.known))")
    }

    @Test func namesAreThoseOfTheFormat() {
        for metric in Metric.allCases {
            #expect(metric.rawValue.utf8.allSatisfy { (97...122).contains($0) || $0 == 95 }, "\(metric)")
            #expect(
                !["_total", "_info", "_count", "_sum", "_bucket", "_created"].contains { metric.rawValue.hasSuffix($0) }
            )
        }
    }
}
