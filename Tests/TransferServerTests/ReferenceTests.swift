import Testing
import TransferModel
import TransferTestSupport

@testable import TransferServer

/// The tables of metrics and HTTP statuses in `docs/reference` are rendered from code; see `GeneratedParts`.
@Suite struct ReferenceTests {
    @Test func metrics() {
        let rows = Metric.allCases.map { metric in
            ["`\(metric.sampleName)`", metric.kind.rawValue, Self.labels(of: metric), metric.help]
        }
        let table = GeneratedParts.table(["name", "kind", "labels", "meaning"], rows)
        let difference = GeneratedParts.difference(of: "docs/reference/metrics.md", from: [("metrics", table)])
        #expect(difference == nil)
    }

    /// Labels with their values, if there are few.
    private static func labels(of metric: Metric) -> String {
        func state(_ values: String...) -> String { "`state`: \(GeneratedParts.code(values))" }
        return switch metric {
        case .build: "`version`"
        case .unready: "`reason`: \(GeneratedParts.code(Unreadiness.allCases.map(\.rawValue)))"
        case .uploads: "`result`, `protocol`"
        case .received, .sent: "`protocol`: \(GeneratedParts.code(ServerMetrics.Wire.allCases.map(\.rawValue)))"
        case .connections: state("open", "handshake")
        case .refusedConnections: "`reason`: \(GeneratedParts.code(ConnectionLimits.Shortage.allCases.map(\.rawValue)))"
        case .refusedAuthentications: "`reason`: a [result](results.md)"
        case .requests: "`method`, `status`: `1xx` to `5xx`"
        case .poolThreads: state("busy", "idle")
        case .catalogUploads: state("stored", "alreadyStored")
        default: ""
        }
    }

    /// The results by their HTTP status, without the results of frames.
    @Test func statuses() {
        let failures = ResultCode.all.filter { code, _ in
            switch code.class {
            case .success: code == .skipped
            case .protocol: code == .malformedFrame
            case .client: false
            case .access, .request, .content, .server: true
            }
        }
        let rows = Set(failures.map(\.code.httpStatus)).sorted().map { status in
            ["\(status)", GeneratedParts.code(failures.filter { $0.code.httpStatus == status }.map(\.name))]
        }
        let difference = GeneratedParts.difference(
            of: "docs/reference/http.md", from: [("statuses", GeneratedParts.table(["status", "results"], rows))])
        #expect(difference == nil)
    }
}
