/// One line of the report.
struct Figure: CustomStringConvertible {
    let name: String
    let value: Double
    let unit: String

    /// The column in which all values end.
    private static let column = 64

    var description: String {
        let number = value.rounded(toPlaces: value < 100 ? 2 : 0)
        let space = String(repeating: " ", count: max(1, Self.column - name.count - number.count))
        return name + space + number + " " + unit
    }
}

extension Double {
    /// The number with `places` decimals.
    func rounded(toPlaces places: Int) -> String {
        guard places > 0 else { return String(Int(rounded())) }
        var scale = 1
        for _ in 0..<places { scale *= 10 }
        let scaled = Int((self * Double(scale)).rounded())
        let fraction = String(scale + scaled % scale).dropFirst()
        return "\(scaled / scale).\(fraction)"
    }
}
